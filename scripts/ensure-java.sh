#!/bin/sh
# Spark needs Java 17 or newer. Do nothing when it is there; otherwise install Debian's, without a desktop.
set -eu
here=$(dirname "$0")
oldest=17

fail() {
    echo "error: $*" >&2
    exit 1
}

# The major version of the Java that Spark would start (JAVA_HOME comes before PATH); 0 when there is none.
java_version() {
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
    echo "${version:-0}"
}

[ "$(java_version)" -ge "$oldest" ] && exit 0

[ -z "${JAVA_HOME:-}" ] ||
    fail "Spark needs Java $oldest or newer. Got JAVA_HOME=$JAVA_HOME. Point it to a newer one, or unset it."

"$here/apt-install.sh" openjdk-17-jre-headless openjdk-21-jre-headless

[ "$(java_version)" -ge "$oldest" ] ||
    fail "Java was installed, but \`java\` still starts an older one. Put the newer one first in PATH."

#!/bin/sh
# Install the first of the named Debian packages that this machine can get.
# Usage: apt-install.sh PACKAGE [ALTERNATIVE ...]
set -eu

fail() {
    echo "error: $*" >&2
    exit 1
}

command -v apt-get >/dev/null || fail "no apt-get on this machine. Install $1, or what matches it here, and run again."

as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "installing $1 needs root. Run as root: apt-get install $1"
    as_root=sudo
fi

# A mirror that is down for a moment is no reason to stop: the lists at hand may do.
$as_root apt-get update -qq || echo "warning: apt-get update failed; going on with the package lists at hand." >&2

for package in "$@"; do
    if apt-get install --dry-run -qq "$package" >/dev/null 2>&1; then
        echo "Installing $package with apt-get."
        exec $as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$package" >/dev/null
    fi
done
fail "apt-get can install none of: $*."

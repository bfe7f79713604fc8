#!/bin/sh
# The tests open reports in a browser. Do nothing when Chromium is there; otherwise install Debian's.
set -eu
here=$(dirname "$0")

command -v chromium >/dev/null || command -v chromium-browser >/dev/null || "$here/apt-install.sh" chromium

#!/bin/sh
# Make a virtual environment with pip in it, installing Debian's venv package when Python came without it.
# Usage: make-venv.sh PYTHON FOLDER
set -eu
python=$1
folder=$2
here=$(dirname "$0")

fail() {
    echo "error: $*" >&2
    exit 1
}

has_pip() { "$folder/bin/python" -m pip --version >/dev/null 2>&1; }

has_pip && exit 0

command -v "$python" >/dev/null || fail "no $python on this machine. Install Python 3.11 or newer (Debian: apt-get install python3)."
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "Python 3.11 or newer is needed. Got $version from $python. Name a newer one: make PYTHON=/path/to/python3."

# Debian splits the standard library: without this package, `python3 -m venv` leaves a folder without pip.
"$python" -c 'import ensurepip, venv' 2>/dev/null || "$here/apt-install.sh" "python$version-venv"

echo "Making $folder with Python $version."
"$python" -m venv --clear "$folder"
has_pip || fail "$folder was made without pip. Remove it, mend $python, and run again."

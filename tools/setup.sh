#!/bin/bash
# A virtual environment with podsync in it: setup.sh VENV [dev]
# Installs Debian's python3-venv first where it is missing and we may.
set -euo pipefail
venv=$1 extra=${2:-}
python=${PYTHON:-python3}
say() { echo "setup: $*" >&2; }

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
    || { say "podsync needs Python 3.11 or newer as '$python'; name another one with PYTHON=…"; exit 1; }
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    [ "$(id -u)" = 0 ] || { say "Python's venv module is missing: apt-get install python3-venv"; exit 1; }
    say "installing python3-venv"
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y --no-install-recommends python3-venv >/dev/null 2>&1 \
        || { apt-get update >/dev/null && apt-get install -y --no-install-recommends python3-venv >/dev/null; }
fi
[ -x "$venv/bin/python" ] || { say "making $venv"; "$python" -m venv "$venv"; }
say "installing podsync${extra:+ with its $extra tools}"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e ".${extra:+[$extra]}"

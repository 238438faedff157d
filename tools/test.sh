#!/bin/bash
# All tests, the quick ones first: test.sh BIN
set -euo pipefail
bin=$1

# the URL source is tested against a real nginx with TLS
missing=()
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing+=(nginx-light)
command -v openssl >/dev/null || missing+=(openssl)
if [ ${#missing[@]} != 0 ] && [ "$(id -u)" = 0 ]; then
    echo "test: installing ${missing[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    policy=/usr/sbin/policy-rc.d
    [ -e "$policy" ] || { printf '#!/bin/sh\nexit 101\n' >"$policy"; chmod +x "$policy"; trap 'rm -f "$policy"' EXIT; }   # start no service
    apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1 \
        || { apt-get update >/dev/null && apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null; }
fi

"$bin/python" -m pytest -n 2 tests/unit tests/simulation tests/test_architecture.py
"$bin/python" -m pytest -n 3 --dist worksteal tests/contract tests/e2e

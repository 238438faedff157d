#!/bin/bash
# Run a command with Docker and Podman at hand: with-engines.sh COMMAND…
#
# As root the engines are installed and started where they don't answer (tools/engines.sh).
# What was started here is stopped again at the end. PODSYNC_ENGINES=new takes today's engines,
# built from source once (tools/new-engines.sh); =none takes whatever the environment names.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case ${PODSYNC_ENGINES:-distribution} in
new) script=$here/new-engines.sh ;;
none) exec "$@" ;;
*) script=$here/engines.sh ;;
esac
if [ "$(id -u)" != 0 ]; then
    echo "with-engines: not root, so no engine is started; tests without an engine are skipped" >&2
    exec "$@"
fi
# `down` ends only what `up` has started; leave that alone too if it was there before us
before=$("$script" status 2>/dev/null | grep -c 'started here' || true)
if ! exports=$("$script" up); then
    [ -z "${PODSYNC_REQUIRE_ENGINES:-}" ] || { echo "with-engines: no engine, and PODSYNC_REQUIRE_ENGINES is set" >&2; exit 1; }
    echo "with-engines: no engine could be started; tests without an engine are skipped" >&2
    exec "$@"
fi
eval "$exports"
export PODSYNC_TEST_DOCKER=$DOCKER_HOST PODSYNC_TEST_PODMAN=$CONTAINER_HOST
status=0
"$@" || status=$?
[ "$before" != 0 ] || "$script" down
exit "$status"

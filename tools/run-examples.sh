#!/bin/bash
# Run the example pods on whatever engine there is: run-examples.sh PODSYNC [down]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
podsync=$1 what=${2:-up}
root=${PODSYNC_ROOT:-$PWD/.podsync}
export PODSYNC_ROOT=$root
node=examples-$(printf %s "$root" | cksum | cut -d' ' -f1)   # one node name a clone: they must not end each other's pods
say() { echo "run: $*" >&2; }

docker_answers() { command -v docker >/dev/null && docker version >/dev/null 2>&1; }
podman_answers() { command -v podman >/dev/null && podman info >/dev/null 2>&1; }
engine() {
    if docker_answers; then echo docker
    elif podman_answers; then echo podman
    fi
}

found=$(engine)
if [ -z "$found" ]; then
    [ "$(id -u)" = 0 ] || { say "no engine answers; start Docker or Podman, or run this as root to have one installed"; exit 1; }
    say "no engine answers; installing and starting Docker"
    exports=$(ENGINES=docker "$here/engines.sh" up)
    eval "$exports"
    found=docker
fi

if [ "$what" = down ]; then
    "$podsync" run --runtime "$found" --node-name "$node" --once --down
    say "nothing of the examples is left"
    exit 0
fi

for image in nginx busybox; do
    "$found" image inspect "$image:latest" >/dev/null 2>&1 && continue
    say "getting the image $image"
    timeout 60 "$found" pull -q "$image:latest" >/dev/null 2>&1 && continue
    say "no registry has it for us; building it from Debian's packages"
    [ "$(id -u)" = 0 ] || { say "that needs root"; exit 1; }
    exports=$(ENGINES=$found "$here/engines.sh" up)
done

say "running the pods of examples/ on $found (state in $root)"
"$podsync" run --source "dir:$here/../examples" --runtime "$found" --node-name "$node" --once
"$podsync" get pods -o wide
echo
echo "They run on by themselves. Look at them:      PODSYNC_ROOT=$root $podsync describe pod nginx"
echo "Keep them as their files say:                 PODSYNC_ROOT=$root $podsync run --source dir:examples --node-name $node"
echo "End them:                                     make down"

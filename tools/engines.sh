#!/bin/bash
# Container engines for the tests, on a bare Debian machine (root; no systemd, no network registry).
#
#   eval "$(engines.sh up)"   install what is missing, start what doesn't answer, load the test
#                             images into both engines; prints `export` lines, all else on stderr
#   engines.sh down           stop (by pid) what `up` started; images and packages stay
#   engines.sh status         what answers, what `up` started
#
# It is idempotent; with everything in place `up` takes well under 3 s.
# Environment (all optional):
#   ENGINES="docker podman"         which engines
#   ENGINES_STATE=/run/test-engines pids, containers.conf, logs, the podman service's socket
#   ENGINES_DOCKER_SOCK=/var/run/docker.sock    another path: a private dockerd is started with its
#                                   own data, exec root, pid file and bridge, and no iptables rules
#                                   (a second dockerd with iptables would flush the first one's chains)
#   ENGINES_DOCKER_DATA=$ENGINES_STATE/docker   data root of a private dockerd
#   ENGINES_DOCKER_NET=172.31.250.1/24          bridge address of a private dockerd
#   ENGINES_DOCKERD_ARGS=""         more dockerd arguments, e.g. --live-restore
#   ENGINES_PODMAN_SOCK=$ENGINES_STATE/podman.sock
#   ENGINES_PODMAN_ROOT=""          private podman storage below this folder (default: the machine's)
#   ENGINES_EXEC_DELAY=5            seconds podman keeps a finished exec session (its default of 300
#                                   leaves two conmon processes per exec for five minutes)
#   ENGINES_IMAGES="busybox nginx"  images to have; --rebuild makes them anew
set -u
export PATH=$PATH:/usr/sbin:/sbin LC_ALL=C DEBIAN_FRONTEND=noninteractive
# after `eval "$(new-engines.sh up)"` in the same shell: this machine's own binaries and storage again
[ -z "${NEW_ENGINES_BIN:-}" ] || { PATH=:$PATH:; PATH=${PATH//":$NEW_ENGINES_BIN:"/:}; PATH=${PATH#:}; PATH=${PATH%:}; unset CONTAINERS_STORAGE_CONF; }
# after `eval "$(engines.sh up)"`: with these set podman would be a client of that service, which can do less
unset CONTAINER_HOST CONTAINER_CONNECTION
ENGINES=${ENGINES:-docker podman}
S=${ENGINES_STATE:-/run/test-engines}
DSOCK=${ENGINES_DOCKER_SOCK:-/var/run/docker.sock}; DDATA=${ENGINES_DOCKER_DATA:-$S/docker}; DNET=${ENGINES_DOCKER_NET:-172.31.250.1/24}
PSOCK=${ENGINES_PODMAN_SOCK:-$S/podman.sock}; PROOT=${ENGINES_PODMAN_ROOT:-}
IMAGES=${ENGINES_IMAGES:-busybox nginx}
CONF=$S/containers.conf
say() { echo "engines: $*" >&2; }
die() { say "$*"; exit 1; }
want() { [[ " $ENGINES " == *" $1 "* ]]; }
private() { [ "$(readlink -f "$DSOCK")" != "$(readlink -f /var/run/docker.sock)" ]; }
have() { dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | grep -c '^installed '; }

# --- one small helper: HTTP over a unix socket, and images without a registry -----------------
helper() { python3 - "$@" <<'PY'
import http.client, json, socket, sys
class C(http.client.HTTPConnection):
    def __init__(s, p, t): super().__init__("d", timeout=t); s.p = p
    def connect(s): s.sock = socket.socket(socket.AF_UNIX); s.sock.settimeout(s.timeout); s.sock.connect(s.p)
def call(sock, m, url, body=None, t=60):
    c = C(sock, t); c.request(m, url, body=body, headers={"Content-Type": "application/x-tar"} if body else {})
    r = c.getresponse(); return r.status, r.read()
cmd, sock, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
try:
    if cmd == "ping": sys.exit(0 if call(sock, "GET", "/_ping", t=5)[0] == 200 else 1)
    if cmd == "images":                       # prints the wanted images the engine lacks
        for n in rest:
            if call(sock, "GET", "/v1.40/images/%s:latest/json" % n)[0] != 200: print(n)
    if cmd == "tag":                          # Podman: also under the name a bare "busybox" stands for elsewhere
        for n in rest:
            st, b = call(sock, "GET", "/v1.40/images/%s:latest/json" % n)
            if st == 200 and not any(t.endswith("/library/%s:latest" % n) for t in json.loads(b)["RepoTags"]):
                st, b = call(sock, "POST", "/v1.40/images/%s:latest/tag?repo=library/%s&tag=latest" % (n, n))
                if st != 201: sys.exit("tag %s: %s %s" % (n, st, b[:300]))
    if cmd == "load":
        for f in rest:
            st, b = call(sock, "POST", "/v1.40/images/load?quiet=1", open(f, "rb"), 300)
            if st != 200 or b'"error"' in b: sys.exit("load %s: %s %s" % (f, st, b[:300]))
except OSError as e: sys.exit(1 if cmd == "ping" else "%s: %s" % (sock, e))
PY
}
ping() { [ -S "$1" ] && helper ping "$1"; }

# --- processes: remembered as "pid starttime", so a reused pid is never killed -----------------
started() { awk '{print $22}' "/proc/$1/stat" 2>/dev/null; }
remember() { echo "$2 $(started "$2")" >"$S/$1.pid"; }
alive() { local p t; [ -f "$S/$1.pid" ] && read -r p t <"$S/$1.pid" && [ -n "$t" ] && [ "$(started "$p")" = "$t" ] && echo "$p"; }
stop() { local p _; p=$(alive "$1") || true
  if [ -n "$p" ]; then say "stopping $1 (pid $p)"; kill "$p"; for _ in $(seq 300); do [ -z "$(alive "$1")" ] && break; sleep 0.1; done
    [ -n "$(alive "$1")" ] && kill -9 "$p"; fi; rm -f "$S/$1.pid"; }

# --- packages ---------------------------------------------------------------------------------
packages() { local need=() p
  want docker && need+=(docker.io iptables iproute2)
  want podman && need+=(podman conmon netavark aardvark-dns runc catatonit iptables)
  [ "$(have "${need[@]}")" -ge "$(printf '%s\n' "${need[@]}" | sort -u | wc -l)" ] && return
  local miss=(); for p in $(printf '%s\n' "${need[@]}" | sort -u); do [ "$(have "$p")" = 1 ] || miss+=("$p"); done
  say "installing ${miss[*]}"; apt_lists "${miss[@]}"
  local pol=; [ -e /usr/sbin/policy-rc.d ] || { printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; pol=1; }   # start nothing by itself
  apt-get install -y --no-install-recommends "${miss[@]}" >"$S/apt.log" 2>&1; local rc=$?
  [ -n "$pol" ] && rm -f /usr/sbin/policy-rc.d
  [ $rc = 0 ] || { tail -5 "$S/apt.log" >&2; die "apt-get install failed (log $S/apt.log)"; }; }
apt_lists() { local p; for p in "$@"; do apt-cache policy "$p" 2>/dev/null | grep -q 'Candidate: [0-9]' || { apt-get update >"$S/apt-update.log" 2>&1; return; }; done; }

# --- dockerd ----------------------------------------------------------------------------------
cgroups() { mountpoint -q /sys/fs/cgroup && return      # a machine where nothing has mounted them
  local c
  if awk '!/^#/ && $2 != 0 {v1 = 1} END {exit !v1}' /proc/cgroups 2>/dev/null; then
    say "mounting cgroup v1 controllers on /sys/fs/cgroup"; mount -t tmpfs -o mode=755 none /sys/fs/cgroup || return 0
    # shellcheck disable=SC2013
    for c in $(awk '!/^#/ && $2 != 0 {print $1}' /proc/cgroups); do mkdir -p "/sys/fs/cgroup/$c"; mount -t cgroup -o "$c" none "/sys/fs/cgroup/$c" 2>/dev/null || rmdir "/sys/fs/cgroup/$c"; done
  else say "mounting cgroup2 on /sys/fs/cgroup"; mount -t cgroup2 none /sys/fs/cgroup || say "no cgroups; engines may refuse to start"; fi; }
dockerd_up() { ping "$DSOCK" && return
  local args=() br _ p try
  if private; then br=$(bridge); [ -e "/sys/class/net/$br" ] || { ip link add "$br" type bridge && ip addr add "$DNET" dev "$br" && ip link set "$br" up && echo "$br" >"$S/bridge"; }
    echo '{}' >"$S/daemon.json"
    args=(--config-file "$S/daemon.json" --data-root "$DDATA" --exec-root "$S/docker-exec" --pidfile "$S/docker.runpid" -H "unix://$DSOCK" --bridge "$br" --iptables=false --ip-masq=false)
  fi
  # shellcheck disable=SC2206
  args+=(${ENGINES_DOCKERD_ARGS:-})
  for try in "" "" "--iptables=false --ip-masq=false"; do
    say "starting dockerd ${args[*]} $try"
    # shellcheck disable=SC2086
    setsid dockerd "${args[@]}" $try >>"$S/dockerd.log" 2>&1 </dev/null & p=$!
    for _ in $(seq 300); do ping "$DSOCK" && { remember dockerd $p; return; }; kill -0 $p 2>/dev/null || break; sleep 0.1; done
    kill $p 2>/dev/null
    case $(tail -5 "$S/dockerd.log") in *"pid file found"*) sleep 2;;      # a killed one that its parent has yet to reap
      *[Ii][Pp][Tt]ables*) private && break;; *) break;; esac
  done
  tail -5 "$S/dockerd.log" >&2; die "dockerd did not start (log $S/dockerd.log)"; }
bridge() { echo "te$(printf %s "$DSOCK" | cksum | cut -c1-8)"; }

# --- podman: containers.conf that works here ----------------------------------------------------
podman_env() { export CONTAINERS_CONF=$CONF; [ -n "$PROOT" ] && export CONTAINERS_STORAGE_CONF=$S/storage.conf; return 0; }
storage_conf() { [ -n "$PROOT" ] || return 0; mkdir -p "$PROOT"
  printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/storage"\nrunroot = "%s/podman-run"\n' "$PROOT" "$S" >"$S/storage.conf"; }
distro_defaults() { # CONTAINERS_CONF replaces the distribution's file: keep what that says of capabilities and sysctls
  awk '/^[[:space:]]*#/{next} /^\[/{c=($0 ~ /^\[containers\]/)} c && /^default_(capabilities|sysctls)[[:space:]]*=/{p=1} p{print; if (/\]/) p=0}' /usr/share/containers/containers.conf 2>/dev/null; }
conf() { # $1 runtime, $2 default_ulimits line or empty
  { echo "# written by podsync's tools/engines.sh"; echo "[containers]"; distro_defaults; [ -n "$2" ] && echo "default_ulimits = [$2]"; echo 'log_driver = "k8s-file"'
    echo "[engine]"; echo "runtime = \"$1\""; echo "exit_command_delay = ${ENGINES_EXEC_DELAY:-5}"
    [ -d /run/systemd/system ] || { echo 'cgroup_manager = "cgroupfs"'; echo 'events_logger = "file"'; }
    printf '[engine.runtimes]\n%s = ["%s"]\n' "$1" "$(command -v "$1")"; } >"$CONF"; }   # podman looks in /usr/bin before PATH
stamp() { ulimit -Hn; ulimit -Hu; ulimit -Hl; cat /proc/sys/kernel/pid_max; grep -i cap /proc/self/status; stat -c %Y "$(command -v podman)" "$(command -v runc)" 2>/dev/null; command -v crun; cat /sys/fs/cgroup/unified/cgroup.controllers 2>/dev/null; echo "${ENGINES_EXEC_DELAY:-5} $PROOT"; cksum <"$0"; }
try_run() { ( cd "$S" && timeout 60 podman run --rm --network none busybox:latest true ) >"$S/try.log" 2>&1; }
limits() { # what a runtime started by conmon really gets: run one that writes its own limits down
  printf '#!/bin/sh\n[ -e %s/limits ] || cat /proc/self/limits >%s/limits\nexit 1\n' "$S" "$S" >"$S/probe-runtime"; chmod +x "$S/probe-runtime"; rm -f "$S/limits"
  ( cd "$S" && timeout 60 podman --runtime "$S/probe-runtime" run --rm --network none busybox:latest true ) >/dev/null 2>&1
  [ -s "$S/limits" ] && awk '/^Max open files/{n=$5} /^Max processes/{p=$4} END{o="\"nofile=" n ":" n "\""; if (p!="unlimited") o=o ", \"nproc=" p ":" p "\""; print o}' "$S/limits"; }
podman_conf() { podman_env; storage_conf
  [ -s "$CONF" ] && [ "$(stamp)" = "$(cat "$S/conf.stamp" 2>/dev/null)" ] && return
  conf runc ""; podman_images || die "podman load failed"
  local rt l lim
  for l in "" probe; do
    if [ -n "$l" ]; then conf runc ""; lim=$(limits); [ -n "$lim" ] || continue; else lim=; fi
    for rt in crun runc; do command -v $rt >/dev/null || continue
      conf $rt "$lim"; if try_run; then say "podman: runtime $rt${lim:+, default_ulimits $lim}"; stamp >"$S/conf.stamp"; return; fi
    done
  done
  cat "$S/try.log" >&2; rm -f "$CONF"; die "podman can't run a container with crun or runc"; }
podman_service() { ping "$PSOCK" && return
  rm -f "$PSOCK"; say "starting podman service on $PSOCK"
  ( cd "$S" && exec setsid podman system service --time 0 "unix://$PSOCK" ) >>"$S/podman.log" 2>&1 </dev/null & local p=$! _
  for _ in $(seq 100); do ping "$PSOCK" && { remember podman $p; return; }; kill -0 $p 2>/dev/null || break; sleep 0.1; done
  tail -5 "$S/podman.log" >&2; die "podman service did not start"; }

# --- images from Debian's packages ----------------------------------------------------------------
deb() { # $1 package, $2 folder: unpack it there without installing it
  local d="$S/debs/$1"; mkdir -p "$d" "$2"; ls "$d"/*.deb >/dev/null 2>&1 || { apt_lists "$1"; ( cd "$d" && apt-get download "$1" ) >>"$S/apt.log" 2>&1 || die "apt-get download $1 failed (log $S/apt.log)"; }
  dpkg-deb -x "$d"/*.deb "$2"; }
base() { # a small root with busybox as its userland
  local r=$1 a; mkdir -p "$r"/{bin,etc,root,tmp,var/log,var/tmp,run,home,usr/bin,usr/sbin,sbin}; chmod 1777 "$r/tmp" "$r/var/tmp"; chmod 700 "$r/root"
  rm -rf "$S/bb"; deb busybox-static "$S/bb"; cp "$(find "$S/bb" -name busybox -type f -perm -u+x | head -1)" "$r/bin/busybox"
  for a in $("$r/bin/busybox" --list); do [ -e "$r/bin/$a" ] || ln -s busybox "$r/bin/$a"; done; ln -sf ../../bin/env "$r/usr/bin/env"
  printf 'root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/bin/false\nwww-data:x:33:33:www-data:/var/www:/bin/false\nnginx:x:101:101:nginx:/nonexistent:/bin/false\nnobody:x:65534:65534:nobody:/home:/bin/false\n' >"$r/etc/passwd"
  printf 'root:x:0:\ndaemon:x:1:\nwww-data:x:33:\nnginx:x:101:\nnobody:x:65534:\n' >"$r/etc/group"; printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$r/etc/nsswitch.conf"; }
rootfs_busybox() { base "$1"; }
rootfs_nginx() { local r=$1 l p; base "$r"; rm -rf "$S/ng"; deb nginx-common "$S/ng"; deb nginx "$S/ng"
  cp "$S/ng/usr/sbin/nginx" "$r/usr/sbin/nginx"; mkdir -p "$r"/etc/nginx/conf.d "$r"/usr/share/nginx/html "$r"/var/log/nginx "$r"/var/cache/nginx "$r"/var/lib/nginx "$r"/lib
  cp "$S/ng/etc/nginx/mime.types" "$r/etc/nginx/"
  while :; do # its shared libraries: this machine's, or those of the packages that have them
    p=; while read -r l; do case $l in *'not found'*) case $l in libpcre2*) p=libpcre2-8-0;; libssl*|libcrypto*) p=libssl3;; libz*) p=zlib1g;; libcrypt.*) p=libcrypt1;; *) die "nginx needs $l";; esac; deb $p "$S/ng";; esac; done < <(LD_LIBRARY_PATH=$(find "$S/ng" -name 'lib*.so*' -printf '%h\n' | sort -u | paste -sd:) ldd "$r/usr/sbin/nginx")
    [ -z "$p" ] && break
  done
  LD_LIBRARY_PATH=$(find "$S/ng" -name 'lib*.so*' -printf '%h\n' | sort -u | paste -sd:) ldd "$r/usr/sbin/nginx" | grep -o '/[^ ]*' | while read -r l; do case $l in */ld-linux*) mkdir -p "$r$(dirname "$l")"; cp -L "$l" "$r$l";; *) mkdir -p "$r/lib/$(basename "$(dirname "$l")")"; cp -L "$l" "$r/lib/$(basename "$(dirname "$l")")/";; esac; done
  ln -sf /dev/stdout "$r/var/log/nginx/access.log"; ln -sf /dev/stderr "$r/var/log/nginx/error.log"
  cat >"$r/etc/nginx/nginx.conf" <<'N'
user nginx;
worker_processes 1;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;
events { worker_connections 512; }
http {
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log /var/log/nginx/access.log;
    client_body_temp_path /var/cache/nginx/client_temp; proxy_temp_path /var/cache/nginx/proxy_temp;
    fastcgi_temp_path /var/cache/nginx/fastcgi_temp; uwsgi_temp_path /var/cache/nginx/uwsgi_temp; scgi_temp_path /var/cache/nginx/scgi_temp;
    sendfile on;
    keepalive_timeout 65;
    include /etc/nginx/conf.d/*.conf;
}
N
  printf 'server {\n    listen 80;\n    server_name localhost;\n    location / { root /usr/share/nginx/html; index index.html index.htm; }\n}\n' >"$r/etc/nginx/conf.d/default.conf"
  printf '<!DOCTYPE html>\n<html><head><title>Welcome to nginx!</title></head>\n<body><h1>Welcome to nginx!</h1></body></html>\n' >"$r/usr/share/nginx/html/index.html"; }
archive() { # $1 image, $2 rootfs, $3 file: a docker-archive; same rootfs, same image id in both engines
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=gnu -C "$2" -cf "$2.layer.tar" . && python3 - "$1" "$2.layer.tar" "$3" <<'PY'
import hashlib, io, json, os, sys, tarfile
name, layer, out = sys.argv[1:]; h = hashlib.sha256()
with open(layer, "rb") as f:
    for b in iter(lambda: f.read(1 << 20), b""): h.update(b)
c = {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], "Cmd": ["sh"], "Labels": {"test-engines": "1"}}
if name == "nginx": c.update(Cmd=["nginx", "-g", "daemon off;"], ExposedPorts={"80/tcp": {}}, StopSignal="SIGQUIT")
arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
cfg = json.dumps({"architecture": arch, "os": "linux", "created": "1970-01-01T00:00:00Z", "config": c, "rootfs": {"type": "layers", "diff_ids": ["sha256:" + h.hexdigest()]},
                  "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "engines.sh"}]}, sort_keys=True).encode()
cid = hashlib.sha256(cfg).hexdigest()
man = json.dumps([{"Config": cid + ".json", "RepoTags": [name + ":latest"], "Layers": ["layer.tar"]}]).encode()
with tarfile.open(out + ".new", "w", format=tarfile.USTAR_FORMAT) as t:
    for n, d in (("manifest.json", man), (cid + ".json", cfg)):
        i = tarfile.TarInfo(n); i.size = len(d); t.addfile(i, io.BytesIO(d))
    i = tarfile.TarInfo("layer.tar"); i.size = os.path.getsize(layer)
    with open(layer, "rb") as f: t.addfile(i, f)
os.rename(out + ".new", out)
PY
}
build() { local n=$1 out="$S/images/$1.tar"; [ -s "$out" ] && return
  say "building $n:latest from Debian's packages"; mkdir -p "$S/images"; rm -rf "$S/rootfs"; mkdir -p "$S/rootfs"
  "rootfs_$n" "$S/rootfs"; archive "$n" "$S/rootfs" "$out" || die "building $n failed"
  rm -rf "$S/rootfs" "$S/rootfs.layer.tar" "$S/bb" "$S/ng"; }
# shellcheck disable=SC2086   # IMAGES is a list
docker_images() { local n lack=$IMAGES
  [ -n "$REBUILD" ] || lack=$(helper images "$DSOCK" $IMAGES) || die "Docker doesn't list images"
  for n in $lack; do need "$n"; done
  [ ${#LOAD[@]} = 0 ] || { helper load "$DSOCK" "${LOAD[@]}" || die "loading images into Docker failed"; say "Docker: loaded ${LOAD[*]##*/}"; }; LOAD=(); }
podman_images() { local n; for n in $IMAGES; do { [ -z "$REBUILD" ] && podman image exists "$n:latest"; } || need "$n"; done
  local f; for f in ${LOAD[@]+"${LOAD[@]}"}; do podman load -q -i "$f" >/dev/null 2>"$S/try.log" || { cat "$S/try.log" >&2; return 1; }; say "Podman: loaded ${f##*/}"; done; LOAD=(); }
need() { build "$1"; [[ " ${LOAD[*]-} " == *" $S/images/$1.tar "* ]] || LOAD+=("$S/images/$1.tar"); }

up() { REBUILD=; [ "${1:-}" = --rebuild ] && REBUILD=1; LOAD=()
  [ "$(id -u)" = 0 ] || die "must run as root"
  command -v python3 >/dev/null || { apt_lists python3; apt-get install -y --no-install-recommends python3 >&2 || die "no python3"; }
  mkdir -p "$S"; chmod 755 "$S"; exec 9>"$S/lock"; flock 9
  [ -n "$REBUILD" ] && rm -rf "$S/images"
  packages; cgroups
  if want docker; then dockerd_up 9>&-; docker_images; echo "export DOCKER_HOST=unix://$DSOCK"; fi
  # shellcheck disable=SC2086
  if want podman; then podman_conf 9>&-; podman_images || die "podman load failed"; podman_service 9>&-; helper tag "$PSOCK" $IMAGES || die "naming images in Podman failed"
    echo "export CONTAINERS_CONF=$CONF"; [ -n "$PROOT" ] && echo "export CONTAINERS_STORAGE_CONF=$S/storage.conf"; echo "export CONTAINER_HOST=unix://$PSOCK"; fi
  [ -z "${NEW_ENGINES_BIN:-}" ] || echo "unset CONTAINERS_STORAGE_CONF NEW_ENGINES_BIN; export PATH=$PATH"
  return 0; }
down() { [ -d "$S" ] || return 0; stop podman; rm -f "$PSOCK"; stop dockerd
  if [ -f "$S/bridge" ]; then ip link del "$(cat "$S/bridge")" 2>/dev/null; rm -f "$S/bridge"; fi; rm -f "$S/docker.runpid"
  if want docker && private; then umount "$S"/docker-exec/netns/* 2>/dev/null; mountpoint -q "$DDATA" 2>/dev/null && umount "$DDATA"; fi; return 0; }
status() { local e; for e in docker:$DSOCK podman:$PSOCK; do want "${e%%:*}" || continue; printf '%s %s %s%s\n' "${e%%:*}" "${e#*:}" "$(ping "${e#*:}" && echo answers || echo "doesn't answer")" "$(p=$(alive "$([ "${e%%:*}" = docker ] && echo dockerd || echo podman)"); [ -n "$p" ] && echo ", started here, pid $p")"; done; }
case ${1:-} in up) shift; up "$@";; down) down;; status) status;; *) sed -n '2,12p' "$0" | sed 's/^# \{0,1\}//'; exit 2;; esac

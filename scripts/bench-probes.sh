#!/bin/sh
# Compares the probe engine with its peers (bench/probes), in a network namespace of its own. Installs HAProxy, fping, blackbox_exporter and a C
# compiler where they are missing. Needs root and Debian's packages. Arguments go to the program.
set -eu
cd "$(dirname "$0")/.."

say() { echo "bench-probes: $*"; }
[ "$(id -u)" -eq 0 ] || { say "this needs root" >&2; exit 1; }

missing=
for p in haproxy fping prometheus-blackbox-exporter; do command -v "$p" >/dev/null || missing="$missing $p"; done
command -v gcc >/dev/null || missing="$missing gcc libc6-dev"
if [ -n "$missing" ]; then
  say "going to install:$missing"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update
  policy=/usr/sbin/policy-rc.d # no package may start a service
  if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
  fi
  # shellcheck disable=SC2086 # a list of words
  apt-get -q -y install --no-install-recommends $missing
fi

mkdir -p bin bench/out
scripts/ensure-go.sh go build -buildvcs=false -o bin/bench-probes ./bench/probes
gcc -O2 -Wall -o bin/bench-loop bench/probes/loop/loop.c
# shellcheck disable=SC2016 # the inner shell's own
unshare --net sh -euc '
  ip link set lo up
  sysctl -qw net.core.somaxconn=65535 net.ipv4.tcp_max_syn_backlog=65535
  ulimit -n "$(ulimit -Hn)"
  exec "$@"' sh bin/bench-probes -floor "$PWD/bin/bench-loop" -out bench/out/probes.json "$@"

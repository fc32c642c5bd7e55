#!/bin/sh
# Compares the probe engine with its peers (bench/probes), in a network namespace of its own. Installs HAProxy, fping, blackbox_exporter and a C
# compiler where they are missing. Needs root and Debian's packages. Arguments go to the program.
set -eu
cd "$(dirname "$0")/.."

say() { echo "bench-probes: $*"; }
[ "$(id -u)" -eq 0 ] || { say "this needs root" >&2; exit 1; }

compiler=
command -v gcc >/dev/null || compiler="gcc libc6-dev"
# shellcheck disable=SC2086 # a list of words
scripts/apt-install.sh bench-probes haproxy fping prometheus-blackbox-exporter $compiler

mkdir -p bin bench/out
scripts/ensure-go.sh go build -buildvcs=false -o bin/bench-probes ./bench/probes
gcc -O2 -Wall -o bin/bench-loop bench/probes/loop/loop.c
# shellcheck disable=SC2016 # the inner shell's own
unshare --net sh -euc '
  ip link set lo up
  ip -6 route add local fd77::/64 dev lo
  sysctl -qw net.core.somaxconn=65535 net.ipv4.tcp_max_syn_backlog=65535
  ulimit -n "$(ulimit -Hn)"
  exec "$@"' sh bin/bench-probes -floor "$PWD/bin/bench-loop" -out bench/out/probes.json "$@"

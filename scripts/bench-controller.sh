#!/bin/sh
# Measures a whole hale with very many machines (bench/controller), in a network namespace of its own whose addresses are the machines. Installs
# nftables and iproute2 where they are missing. Needs root and Debian's packages. Arguments go to the program.
set -eu
cd "$(dirname "$0")/.."

say() { echo "bench-controller: $*"; }
[ "$(id -u)" -eq 0 ] || { say "this needs root" >&2; exit 1; }
scripts/apt-install.sh bench-controller nftables iproute2

mkdir -p bin bench/out
scripts/ensure-go.sh go build -buildvcs=false -o bin/bench-controller ./bench/controller
# shellcheck disable=SC2016 # the inner shell's own
unshare --net sh -euc '
  ip link set lo up
  ip route add local 10.64.0.0/10 dev lo
  exec "$@"' sh bin/bench-controller "$@"

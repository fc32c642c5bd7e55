#!/usr/bin/env bash
# Starts a small real OpenStack that stays until scripts/openstack/stop.sh DIR: scripts/openstack/start.sh DIR. As root.
# It lives in a network of its own: scripts/openstack/enter.sh DIR COMMAND... runs a command there; DIR/clouds.yaml has the accounts
# admin, demo and other. NOVA_COMPUTES is the number of its hosts (1). What a stopped one left in DIR is taken up again.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../internal/testbed/cloud/daemons" && pwd)
mkdir -p "${1:?usage: start.sh DIR}"
dir=$(cd "$1" && pwd)
if [ -s "$dir/pid" ] && kill -0 "$(cat "$dir/pid")" 2>/dev/null; then
    echo "a cloud runs in $dir already" >&2
    exit 1
fi
rm -f "$dir/ready" "$dir/life"
mkfifo "$dir/life" # nobody closes it, so the cloud stays

setsid unshare --fork --pid --mount --net --kill-child -- "$here/cloud.sh" "$dir" "$here" "$dir/ready" <>"$dir/life" >"$dir/start.log" 2>&1 &
echo $! >"$dir/pid"
while [ ! -e "$dir/ready" ]; do
    if ! kill -0 "$(cat "$dir/pid")" 2>/dev/null; then
        cat "$dir/start.log" >&2
        exit 1
    fi
    sleep 0.5
done
echo "OpenStack runs; its accounts: $dir/clouds.yaml"

#!/usr/bin/env bash
# Ends the OpenStack that scripts/openstack/start.sh started in DIR: scripts/openstack/stop.sh DIR [--wipe]. With --wipe its folder goes too.
set -euo pipefail

dir=$(cd "${1:?usage: stop.sh DIR [--wipe]}" && pwd)
pid=$(cat "$dir/pid" 2>/dev/null || true)
if [ -n "$pid" ] && kill -KILL "$pid" 2>/dev/null; then # unshare heeds nothing less; its first process goes with it, and everything else with that
    while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
fi
rm -f "$dir/pid" "$dir/ready" "$dir/life"
if [ "${2:-}" = --wipe ]; then rm -rf "$dir"; fi

#!/usr/bin/env bash
# Runs a command in the network of the OpenStack that runs in DIR, with its accounts: scripts/openstack/enter.sh DIR COMMAND...
set -euo pipefail

dir=$(cd "${1:?usage: enter.sh DIR COMMAND...}" && pwd)
shift
first=$(pgrep -P "$(cat "$dir/pid")") # the first process in there
export OS_CLIENT_CONFIG_FILE=$dir/clouds.yaml NO_PROXY='*' no_proxy='*'
exec nsenter --net="/proc/$first/ns/net" "$@"

#!/bin/sh
# shellcheck disable=SC2154
# Called by udhcpc: takes the address that the DHCP server gave.
case "$1" in
  bound | renew)
    ip addr flush dev "$interface"
    ip addr add "$ip/${mask:-24}" dev "$interface"
    [ -n "$router" ] && ip route replace default via "${router%% *}" dev "$interface"
    ;;
esac
exit 0

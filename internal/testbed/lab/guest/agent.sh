#!/bin/sh
# A guest agent that knows two words of QEMU's: guest-sync, with which libvirt greets, and guest-ping.
port() { for p in /sys/class/virtio-ports/*; do grep -qs '^org.qemu.guest_agent.0$' "$p/name" && echo "/dev/${p##*/}" && return; done; }

tries=50
while PORT=$(port); [ ! -c "$PORT" ]; do   # the host tells the port's name a while after the device is there
  tries=$((tries - 1))
  [ $tries -gt 0 ] || exit 1
  usleep 200000
done
exec 3<>"$PORT"
while :; do
  read -r line <&3 || { usleep 200000; continue; }   # nobody is connected on the other side
  case "$line" in
    *guest-sync*) id=${line##*\"id\"}; printf '{"return": %s}\n' "$(echo "$id" | tr -dc 0-9)" >&3 ;;
    *guest-ping*) printf '{"return": {}}\n' >&3 ;;
    *) printf '{"error": {"class": "CommandNotFound", "desc": "this agent only answers pings"}}\n' >&3 ;;
  esac
done

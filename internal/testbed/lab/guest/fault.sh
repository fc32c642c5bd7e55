#!/bin/sh
# fault NAME: makes this guest sick, or well again (http, net).
PIDFILE=/run/http.pid

listens() { grep -qsE ':0050 0+:0000 0A' /proc/net/tcp /proc/net/tcp6; }   # port 80
await() { n=0; until "$@" || [ $n -ge 100 ]; do usleep 10000; n=$((n + 1)); done; }
closed() { ! listens; }

stop_http() {
  [ -f $PIDFILE ] || return
  kill -9 "$(cat $PIDFILE)" 2>/dev/null
  rm -f $PIDFILE
  await closed
}
serve() {
  stop_http
  "$@" </dev/null >/dev/null 2>&1 &
  echo $! >$PIDFILE
  await listens
}
# Kernels since 2025 break every virtio device on the way down; the network driver of some then polls its
# broken queue for ever if a packet was in flight, and the guest never goes off.
quiesce() { ip link set eth0 down 2>/dev/null; }
request() { while read -r line; do [ "${#line}" -le 1 ] && break; done; }   # reads up to the empty line

case "$1" in
  http) serve httpd -f -p 80 -h /www ;;
  nohttp) stop_http ;;
  http503) serve nc -ll -p 80 -e /bin/fault answer503 ;;
  slow) serve nc -ll -p 80 -e /bin/fault answerslow ;;
  hang) serve httpd -f -p 80 -h /www; kill -STOP "$(cat $PIDFILE)" ;;   # connects, never answers
  nonet) ip link set eth0 down ;;
  net) ip link set eth0 up ;;
  noagent) kill -9 "$(cat /run/agent.pid)" ;;
  muteagent) kill -STOP "$(cat /run/agent.pid)" ;;   # its port is open, and it never answers
  agent) /bin/agent </dev/null >/dev/null 2>&1 & echo $! >/run/agent.pid ;;
  deaf) kill -9 "$(cat /run/button.pid)" ;;
  panic) echo c >/proc/sysrq-trigger ;;
  halt) halt -f ;;
  off) quiesce; poweroff -f ;;
  reboot) quiesce; reboot -f ;;
  write) for d in /dev/vd?; do [ "$(cat "/sys/block/${d#/dev/}/ro")" = 1 ] || dd if=/dev/zero "of=$d" bs=65536 seek=16 count=48 conv=notrunc,fsync; done ;;
  sleep) echo mem >/sys/power/state ;;   # until somebody wakes it
  answer503) request; printf 'HTTP/1.0 503 Service Unavailable\r\nContent-Length: 5\r\nConnection: close\r\n\r\nsick\n' ;;
  answerslow) request; sleep 10; printf 'HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n' ;;
  *) exit 2 ;;
esac

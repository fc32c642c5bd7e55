#!/bin/busybox sh
# shellcheck shell=dash disable=SC2013,SC2015
# PID 1 of the lab's guest: loads the virtio modules, reads its configuration (kernel
# command line words hale.KEY=VALUE, then a NoCloud seed), gets an address by DHCP,
# serves / , /healthz and /guest.json on port 80 and takes faults on port 7.
B=/bin/busybox
$B mkdir -p /proc /sys /dev /tmp /run /www /seed /etc
$B mount -t proc proc /proc
$B mount -t sysfs sys /sys
$B mount -t devtmpfs dev /dev 2>/dev/null
$B --install -s /bin 2>/dev/null
export PATH=/bin

load() { for m in $(cat "/mod/$1.list" 2>/dev/null); do insmod "/mod/$m" 2>/dev/null; done; }

# conf KEY DEFAULT
conf() {
  v=
  for w in $(cat /proc/cmdline); do case "$w" in "hale.$1="*) v=${w#"hale.$1="} ;; esac; done
  echo "${v:-$2}"
}

at() { dd "if=$1" bs=1 "skip=$2" "count=$3" 2>/dev/null; }   # at DEVICE OFFSET LENGTH
is_iso() { [ "$(at "$1" 32769 5)" = CD001 ]; }

# A NoCloud seed is an ISO 9660 file system with the label cidata, as a virtio disk or a SCSI CD.
mount_seed() {
  if grep -qs 0x0008 /sys/bus/virtio/devices/*/device; then
    load scsi
    n=0; while [ ! -b /dev/sr0 ] && [ $n -lt 20 ]; do usleep 50000; n=$((n + 1)); done
  fi
  for d in /dev/vd? /dev/sr0; do
    [ -b "$d" ] && is_iso "$d" || continue
    case "$(at "$d" 32808 6)" in [Cc][Ii][Dd][Aa][Tt][Aa]) ;; *) continue ;; esac
    load iso
    mount -t iso9660 -o ro "$d" /seed && [ -f /seed/meta-data ] && return
    umount /seed 2>/dev/null
  done
}
seed() { sed -n "s/^$1:[[:space:]]*//p" /seed/meta-data 2>/dev/null | tr -d "\"'\r" | head -n 1; }

# The first writable disk counts the boots in its first sector: it proves that a disk survived.
count_boot() {
  BOOTS=0
  for d in /dev/vd?; do
    [ -b "$d" ] && [ "$(cat "/sys/block/${d#/dev/}/ro")" = 0 ] && ! is_iso "$d" || continue
    BOOTS=$(dd "if=$d" bs=16 count=1 2>/dev/null | tr -dc 0-9)
    BOOTS=$((${BOOTS:-0} + 1))
    # sync(1) writes a raw device back and tells it no flush: QEMU would lose the cluster's place with its process.
    printf '%-16s' "$BOOTS" | dd "of=$d" bs=16 count=1 conv=notrunc,fsync 2>/dev/null || echo "boot not counted on $d" >/dev/console
    return
  done
}

# The power button must be open before the guest says that it is ready, or a shutdown can be lost.
watch_button() {
  for e in /sys/class/input/event*; do
    [ "$(cat "$e/device/name" 2>/dev/null)" = "Power Button" ] || continue
    exec 3<"/dev/input/${e##*/}"
    (dd bs=24 count=1 of=/dev/null 2>/dev/null <&3; fault off) &
    echo $! >/run/button.pid
  done
}

load boot
mount_seed
count_boot
NAME=$(conf name "$(seed local-hostname)"); NAME=${NAME:-guest}
hostname "$NAME"
echo root:x:0:0:root:/:/bin/sh >/etc/passwd
SICK=$(conf sick none); AFTER=$(conf after 0)
[ "$(conf sick_boots 999999)" -ge "$BOOTS" ] || SICK=none

case "$SICK:$AFTER" in panic:0 | off:0) fault "$SICK" ;; esac
[ "$SICK" = deaf ] || watch_button

BOOT_ID=$(cat /proc/sys/kernel/random/boot_id)
echo "ok $NAME boots=$BOOTS boot=$BOOT_ID seed=$(seed local-hostname)" >/www/index.html
echo ok >/www/healthz
cat >/www/guest.json <<J
{"name":"$NAME","boots":$BOOTS,"boot_id":"$BOOT_ID","seed_hostname":"$(seed local-hostname)","seed_instance":"$(seed instance-id)"}
J

ip link set lo up
case "$SICK:$AFTER" in
  nodhcp:* | nonet:0) ;;
  *)
    ip link set eth0 up
    udhcpc -i eth0 -s /udhcpc.sh -x "hostname:$NAME" -t 30 -T 1 -A 1 -S -b >/dev/null 2>&1 ;;
esac
httpd -p 7 -h /ctl
case "$SICK:$AFTER" in
  nohttp:0) ;;
  http503:0 | slow:0 | hang:0) fault "$SICK" ;;
  *) fault http ;;
esac
echo "GUEST-READY name=$NAME boots=$BOOTS up=$(cut -d' ' -f1 /proc/uptime)" >/dev/console

load late
fault agent
case "$(head -c 2 /seed/user-data 2>/dev/null)" in '#!') sh /seed/user-data >/dev/console 2>&1 & ;; esac
case "$SICK:$AFTER" in *:0 | none:* | nodhcp:*) ;; *) sleep "$AFTER"; fault "$SICK" ;; esac
while :; do sleep 3600; done

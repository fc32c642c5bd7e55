#!/bin/sh
# An exec provider for tests of hale's end: a file for each instance, a link for each name, and a mood in which calls are
# answered.
#   well: at once; slow: a second later, where something is changed; silent: never; transient: "not now"
#   late: as slow, and the answer comes another second later; lost: it is done, and no answer comes. As in a cloud, what
#   was asked for in these two moods is done also when the caller dies.
# The addresses of instances are in NET, which is 127 by itself.
# Where there is a file for it, each call that changes something is noted, with the process that made it.
# Of thousands of machines each call counts, so that it does by itself what it can: a process costs more than all else.
read -r request
# after sets $value to what follows the text up to the next quote; empty: the request has no such text.
after() {
    value=${request#*"$1"}
    [ "$value" = "$request" ] && value= || value=${value%%'"'*}
}
after '"operation":"' && operation=$value
read -r mood <"$TRUTH/mood"
case $operation in
describe) echo '{"result":{"contract":1,"name":"truth","abilities":[]}}' && exit ;;
esac
case $mood in
silent) exec sleep 600 ;;
transient) echo '{"error":{"kind":"transient","message":"not now"}}' && exit ;;
esac
after '"instance":{"id":"' && id=$value
file=$TRUTH/instances/$id
case $operation in
identity) echo '{"result":{"identities":{"":"truth"}}}' && exit ;;
list)
    all=$(find "$TRUTH/instances" -type f ! -name '*.new' -exec cat {} + | paste -sd, -)
    echo "{\"result\":{\"instances\":[$all]}}" && exit
    ;;
esac
[ -f "$file" ] && read -r instance <"$file"
if [ "$operation" != create ] && [ -z "$instance" ]; then
    echo '{"error":{"kind":"not found","message":""}}' && exit
fi
if [ "$operation" = get ]; then
    echo "{\"result\":{\"instance\":$instance}}" && exit
fi
write() { printf '%s\n' "$1" >"$file.new" && mv "$file.new" "$file"; }
# change writes the instance with the second text in place of the first, if that is in it.
change() {
    case $instance in *"$1"*) write "${instance%%"$1"*}$2${instance#*"$1"}" ;; esac
}
# build makes an instance.
build() {
    after '"machine":"' && name=$value
    mark=${request#*'"mark":{'} mark="{${mark%%'}'*}}"
    # A name that leads to no instance is free: that one was deleted, or never made.
    [ -d "$TRUTH/names" ] || mkdir -p "$TRUTH/names"
    if [ -f "$file" ] || [ -e "$TRUTH/names/$name" ]; then
        echo '{"error":{"kind":"conflict","message":"the name is taken"}}' && return 1
    fi
    ln -sfn "../instances/$id" "$TRUTH/names/$name"
    # What two instances have as an address says nothing of either, so each has its own: the first that is free, from
    # one on that its id says. It is not given back.
    mkdir -p "$TRUTH/addresses"
    rest=${id#??} last=${rest#??}
    n=$((0x${id%"$rest"} << 16 | 0x${rest%"$last"} << 8 | 0x${last%"${last#??}"}))
    address=${NET:-127}.$((n >> 16)).$((n >> 8 & 255)).$((n & 255))
    until mkdir "$TRUTH/addresses/$address" 2>/dev/null; do
        n=$(((n + 1) & 0xffffff))
        address=${NET:-127}.$((n >> 16)).$((n >> 8 & 255)).$((n & 255))
    done
    write "{\"id\":\"$id\",\"name\":\"$name\",\"power\":\"running\",\"address\":\"$address\",\"mark\":$mark}"
}
# perform notes what is asked for, does it, and answers.
perform() {
    if [ -f "$TRUTH/calls" ]; then
        after '"machine":"'
        printf '%s %s %s %s %s\n' "$(date +%s%N)" "$PPID" "$operation" "$id" "$value" >>"$TRUTH/calls"
    fi
    case $operation in
    create) build || return ;;
    start) change '"power":"off"' '"power":"running"' ;;
    power-off) change '"power":"running"' '"power":"off"' ;;
    reboot) ;;
    certify) change '"certified":false' '"certified":true' ;;
    delete) rm -f "$file" ;;
    *) echo '{"error":{"kind":"unsupported","message":""}}' && return ;;
    esac
    echo '{"result":{}}'
}
case $mood in
slow) sleep 1 && perform ;;
late) { sleep 1; said=$(perform); sleep 1; echo "$said"; } & wait ;;
lost) perform >/dev/null & wait && exit 1 ;;
*) perform ;;
esac

#!/bin/sh
# An exec provider for tests of hale's end: a file for each instance, and a mood in which calls are answered.
#   well: at once; slow: a second later, where something is changed; silent: never; transient: "not now"
read -r request
field() { printf %s "$request" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
operation=$(field operation)
read -r mood <"$TRUTH/mood"
case $operation in
describe) echo '{"result":{"contract":1,"name":"truth","abilities":[]}}' && exit ;;
esac
case $mood in
silent) exec sleep 600 ;;
transient) echo '{"error":{"kind":"transient","message":"not now"}}' && exit ;;
esac
id=$(printf %s "$request" | sed -n 's/.*"instance":{"id":"\([^"]*\)".*/\1/p')
file=$TRUTH/instances/$id
case $operation in
identity) echo '{"result":{"identities":{"":"truth"}}}' && exit ;;
list)
    all=$(find "$TRUTH/instances" -type f ! -name '*.new' -exec cat {} + | paste -sd, -)
    echo "{\"result\":{\"instances\":[$all]}}" && exit
    ;;
esac
if [ "$operation" != create ] && [ ! -f "$file" ]; then
    echo '{"error":{"kind":"not found","message":""}}' && exit
fi
if [ "$operation" = get ]; then
    read -r instance <"$file"
    echo "{\"result\":{\"instance\":$instance}}" && exit
fi
[ "$mood" = slow ] && sleep 1
change() { sed "$1" "$file" >"$file.new" && mv "$file.new" "$file"; }
case $operation in
create)
    mark=$(printf %s "$request" | sed 's/.*"mark":\({[^}]*}\).*/\1/')
    name=$(printf %s "$request" | sed 's/.*"machine":"\([^"]*\)".*/\1/')
    if [ -f "$file" ] || grep -rqs --exclude='*.new' "\"name\":\"$name\"" "$TRUTH/instances"; then
        echo '{"error":{"kind":"conflict","message":"the name is taken"}}' && exit
    fi
    # What two instances have as an address says nothing of either: each has its own.
    address=127$(printf '.%d' $(printf %s "$id" | sed 's/^\(..\)\(..\)\(..\).*/0x\1 0x\2 0x\3/'))
    echo "{\"id\":\"$id\",\"name\":\"$name\",\"power\":\"running\",\"address\":\"$address\",\"mark\":$mark}" >"$file.new"
    mv "$file.new" "$file"
    ;;
start) change 's/"power":"off"/"power":"running"/' ;;
power-off) change 's/"power":"running"/"power":"off"/' ;;
reboot) ;;
certify) change 's/"certified":false/"certified":true/' ;;
delete) rm -f "$file" ;;
*) echo '{"error":{"kind":"unsupported","message":""}}' && exit ;;
esac
echo '{"result":{}}'

#!/bin/sh
# CGI program on port 7: /cgi-bin/fault?NAME. What takes the answer's way down happens after the answer.
case "$QUERY_STRING" in
  panic | nonet | halt | off | reboot | sleep | write)
    (usleep 200000; fault "$QUERY_STRING") </dev/null >/dev/null 2>&1 & ;;
  http | nohttp | http503 | slow | hang | net | deaf | noagent | muteagent | agent)
    fault "$QUERY_STRING" ;;
  *)
    printf 'Status: 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nunknown fault\n'
    exit ;;
esac
printf 'Content-Type: text/plain\r\n\r\nok\n'

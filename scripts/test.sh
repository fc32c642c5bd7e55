#!/usr/bin/env bash
# Runs the tests: scripts/test.sh [--fast] [go test flags]
#
# The packages whose tests start real machines come last, one at a time and never from the cache: they lean on the
# whole machine, and on what lies outside the source. --fast leaves them out. All packages run, also after a failure.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=(scripts/ensure-go.sh go)
lab=hale/internal/lab

fast=
if [ "${1:-}" = --fast ]; then
    fast=yes
    shift
fi

# The list is computed, so that a new package cannot be forgotten.
all=$("${go[@]}" list ./...)
with_machines=$(
    {
        echo $lab
        "${go[@]}" list -f "{{range .TestImports}}{{if eq . \"$lab\"}}{{\$.ImportPath}} {{end}}{{end}}" ./...
        "${go[@]}" list -f "{{range .XTestImports}}{{if eq . \"$lab\"}}{{\$.ImportPath}} {{end}}{{end}}" ./...
    } | tr ' ' '\n' | sed '/^$/d' | sort -u
)
mapfile -t without < <(grep -vxF "$with_machines" <<<"$all")
mapfile -t with < <(grep -xF "$with_machines" <<<"$all")

status=0
"${go[@]}" test -timeout 10m "$@" "${without[@]}" || status=1
if [ -z "$fast" ] && [ ${#with[@]} -gt 0 ]; then
    "${go[@]}" test -timeout 25m -count=1 -p 1 "$@" "${with[@]}" || status=1
fi
exit $status

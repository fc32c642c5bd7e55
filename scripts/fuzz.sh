#!/usr/bin/env bash
# Runs every fuzz test for a while: scripts/fuzz.sh [TIME]
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${1:-10s}
count=0
while IFS=: read -r file name; do
    echo "fuzzing $name in $(dirname "$file") for $time"
    scripts/ensure-go.sh go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "./$(dirname "$file")"
    count=$((count + 1))
done < <(grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' cmd internal 2>/dev/null | sed 's/:func /:/')
[ $count -gt 0 ] || { echo 'fuzz: there is no fuzz test' >&2; exit 1; }

#!/usr/bin/env bash
# Whether hale builds where it is not Linux. A build takes minutes, since all it is made of is compiled anew: it is made
# for macOS, and stands for FreeBSD as long as hale has the same files there.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=(scripts/ensure-go.sh go)

# files SYSTEM: hale's files on it.
files() { GOOS=$1 CGO_ENABLED=0 "${go[@]}" list -f '{{.ImportPath}} {{.GoFiles}}' ./...; }

systems=(darwin)
[ "$(files darwin)" = "$(files freebsd)" ] || systems+=(freebsd)
for system in "${systems[@]}"; do
    GOOS=$system CGO_ENABLED=0 "${go[@]}" build -o /dev/null ./cmd/hale
done

#!/usr/bin/env bash
# Runs the suite on real machines N times in a row (20 by default) and prints each run's count of scenes, seed and retries:
# scripts/repeat.sh [N]. It stops at the first run that is not green, and says where its output is.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
runs=${1:-20}
log=$(mktemp -t hale-e2e-XXXXXX.log)

for ((run = 1; run <= runs; run++)); do
    if ! scripts/ensure-go.sh go test -count=1 -timeout 15m -v ./e2e >"$log" 2>&1; then
        grep -E '^ *--- FAIL|^e2e:' "$log" || true
        echo "run $run of $runs: not green; its output: $log" >&2
        exit 1
    fi
    echo "run $run of $runs: $(grep -E '^e2e: [0-9]+ scenes' "$log")"
done
rm -f "$log"
echo "$runs runs in a row: green"

#!/usr/bin/env bash
# Compares the document of the API with the last release's: fails when a client that was written for that release would
# break. scripts/api-breaks.sh OASDIFF
#
# docs/reference/openapi.released.json is replaced by docs/reference/openapi.json when a release is made.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
oasdiff=$1
released=docs/reference/openapi.released.json
now=docs/reference/openapi.json

# A guard that cannot fail is none: without one of its orders, the document breaks clients.
broken=$(mktemp)
trap 'rm -f "$broken"' EXIT
sed 's/"brake-off",/"brake-gone",/' $now >"$broken"
if "$oasdiff" breaking $released "$broken" --fail-on ERR >/dev/null; then
    echo "api-breaks: the comparison does not see that an order has gone" >&2
    exit 1
fi
"$oasdiff" breaking $released $now --fail-on ERR

#!/usr/bin/env bash
# Runs the tests: scripts/test.sh [--fast | --cloud] [go test flags]
#
# The packages whose tests start real machines come last, one at a time and never from the cache: they lean on the
# whole machine, and on what lies outside the source. --fast leaves them out. All packages run, also after a failure.
# Those that start a real OpenStack, which takes 500 packages of the distribution, or a message broker of the kind that it has, run with
# --cloud only, and then alone.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=(scripts/ensure-go.sh go)

which=all
case ${1:-} in
--fast | --cloud)
    which=${1#--}
    shift
    ;;
esac

# leaning PACKAGE: the packages whose tests use it.
leaning() {
    local field
    for field in TestImports XTestImports; do
        "${go[@]}" list -f "{{range .$field}}{{if eq . \"$1\"}}{{\$.ImportPath}} {{end}}{{end}}" ./...
    done | tr ' ' '\n' | sed '/^$/d' | sort -u
}

# The lists are computed, so that a new package cannot be forgotten.
with_cloud=$(
    {
        leaning hale/internal/testbed/cloud
        leaning hale/internal/testbed/octavia
        leaning hale/internal/testbed/rabbit
    } | sort -u
)
if [ $which = cloud ]; then
    mapfile -t with <<<"$with_cloud"
    exec "${go[@]}" test -timeout 40m -count=1 -p 1 "$@" "${with[@]}"
fi
all=$("${go[@]}" list ./... | grep -vxF "$with_cloud")
with_machines=$(
    echo hale/internal/testbed/lab
    leaning hale/internal/testbed/lab
)
mapfile -t without < <(grep -vxF "$with_machines" <<<"$all")
mapfile -t with < <(grep -xF "$with_machines" <<<"$all")

said=$(mktemp)
trap 'rm -f "$said"' EXIT

# failed_tests: "PACKAGE TEST" for each test that failed in what was said. A package that failed as a whole (it did not
# build, panicked or took too long) has the test "-".
failed_tests() {
    awk '
        /^--- FAIL: / { names[++n] = $3 }
        /^panic: / { n = 0; whole = 1 }
        /^(ok|FAIL)[ \t]+[^ \t]/ {
            if ($1 == "FAIL" && (whole || !n)) print $2, "-"
            else if ($1 == "FAIL") for (i = 1; i <= n; i++) print $2, names[i]
            n = whole = 0
        }' "$said"
}

# run FLAGS...: go test, and what failed once more. These tests start processes, networks and machines: one in
# thousands fails for the machine below it. At most two tests get the second chance, alone, and the output says so.
run() {
    "${go[@]}" test "$@" 2>&1 | tee "$said" && return 0
    local failed package name
    mapfile -t failed < <(failed_tests)
    if [ ${#failed[@]} -eq 0 ] || [ ${#failed[@]} -gt 2 ] || [[ "${failed[*]}" == *" -"* ]]; then
        return 1
    fi
    for name in "${failed[@]}"; do
        package=${name% *} name=${name#* }
        echo "--- AGAIN: $name of $package failed; it is run once more, alone"
        "${go[@]}" test -timeout 15m -count=1 -run "^$name\$" "$package" || return 1
        echo "--- UNSTEADY: $name of $package failed at first and passed alone: find out why"
    done
}

status=0
run -timeout 20m "$@" "${without[@]}" || status=1
if [ $which = all ] && [ ${#with[@]} -gt 0 ]; then
    # Four at once: guests are waited for more than they compute.
    run -timeout 25m -count=1 -p 1 -parallel 4 "$@" "${with[@]}" || status=1
fi
exit $status

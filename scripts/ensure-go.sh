#!/usr/bin/env bash
# Runs a command with a Go toolchain that is new enough: scripts/ensure-go.sh go test ./...
# Without a command it only makes sure that there is one, and names it.
#
# It looks on PATH and in the usual places; an older go (1.21 or later) may fetch the right toolchain through the
# module proxy; where there is none, and this is root on Debian or Ubuntu, it installs one with apt-get.
# It changes nothing but what apt-get installs. Everything it says goes to standard error.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
want=$(sed -n 's/^go \([0-9.]*\)$/\1/p' go.mod) # such as 1.26.0
fetch_min=1.21.0                                  # the first go that can fetch another

say() { echo "ensure-go: $*" >&2; }

# at_least A B: is version A equal to or later than B?
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

version_of() { GOTOOLCHAIN=local "$1" version 2>/dev/null | sed -n 's/^go version go\([0-9.]*\).*/\1/p'; }

candidates() {
    type -ap go || true
    printf '%s\n' /usr/local/go/bin/go "${HOME:-/nonexistent}"/go/bin/go /usr/lib/go/bin/go
    printf '%s\n' /usr/lib/go-*/bin/go | sort -rV
}

# choose sets go and GOTOOLCHAIN, or fails.
choose() {
    local c v older=""
    while read -r c; do
        [ -x "$c" ] || continue
        v=$(version_of "$c")
        [ -n "$v" ] || continue
        if at_least "$v" "$want"; then
            go=$c
            return 0
        fi
        if [ -z "$older" ] && at_least "$v" "$fetch_min"; then older=$c; fi
    done < <(candidates)
    [ -n "$older" ] || return 1
    say "$older is older than go $want; it fetches that toolchain"
    if ! GOTOOLCHAIN="go$want" "$older" version >/dev/null; then
        say "it could not be fetched"
        return 1
    fi
    go=$older
    export GOTOOLCHAIN="go$want"
}

# apt_names lists golang packages that can do it, the best first: golang-1.26-go, golang-1.25-go, …
apt_names() {
    local n v
    apt-cache "$@" pkgnames golang-1 2>/dev/null | sed -n 's/^\(golang-1\.[0-9]*-go\)$/\1/p' | sort -rV | while read -r n; do
        v=${n#golang-}
        at_least "${v%-go}.0" "$fetch_min" && echo "$n"
    done
    return 0
}

# backports writes a source list for the release's backports, at the mirror that apt already uses.
backports() {
    local suite mirror
    suite=$(. /etc/os-release && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-}")
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 2>/dev/null | awk -v s="$suite" '$2 == s { print $1; exit }')
    [ -n "$suite" ] && [ -n "$mirror" ] || return 1
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite-backports main" >"$1"
}

apt_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    export DEBIAN_FRONTEND=noninteractive
    local name dir opts=()
    say "no go $want here; asking apt-get"
    apt-get update -qq >&2 || true
    name=$(apt_names | head -n 1)
    if [ -z "$name" ]; then
        # Lists of their own: the machine's sources stay as they are.
        dir=$(mktemp -d)
        # shellcheck disable=SC2064 # the folder's name is known now
        trap "rm -rf '$dir'" RETURN
        mkdir -p "$dir/lists/partial"
        backports "$dir/backports.list" || return 1
        cat /etc/apt/sources.list >>"$dir/backports.list" 2>/dev/null || true
        opts=(-o "Dir::Etc::SourceList=$dir/backports.list" -o "Dir::State::Lists=$dir/lists")
        apt-get "${opts[@]}" update -qq >&2 || return 1
        name=$(apt_names "${opts[@]}" | head -n 1)
        [ -n "$name" ] || return 1
        say "installing $name from backports"
    fi
    apt-get "${opts[@]}" install -y -qq --no-install-recommends "$name" ca-certificates >&2
}

if ! choose; then
    if ! apt_install || ! choose; then
        cat >&2 <<END
ensure-go: hale needs Go $want or later, and this machine has none that can be had without you.
  Either  unpack the archive for this machine from https://go.dev/dl/ into /usr/local (it becomes /usr/local/go),
  or      install any Go from 1.21 on, and allow it to fetch the right toolchain through the module proxy,
  then run this again.
END
        exit 1
    fi
fi

PATH="$(dirname "$go"):$PATH"
export PATH
if [ $# -eq 0 ]; then
    say "using $go ($(go version))"
    exit 0
fi
exec "$@"

#!/bin/sh
# apt-install.sh NAME PACKAGE… [-- OPTIONAL…]: installs Debian's packages that are missing, and then also those optional ones that the release has.
# A PACKAGE may be several, as ansible-core|ansible: one of them will do, the first that the release has is taken.
# Says, as NAME, what it is going to install; does nothing where every needed one is there. No service is started, and a systemd that runs is never upgraded.
# Run as root, or as a user who may sudo.
set -eu

name=$1
shift
say() { echo "$name: $*"; }
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
known() { apt-cache show --no-all-versions "$1" 2>/dev/null | grep -q '^Package:'; }
either() { echo "$1" | tr '|' ' '; }
there() { for p in $(either "$1"); do if installed "$p"; then return 0; fi; done; return 1; }

command -v apt-get >/dev/null || { say "this needs apt: Debian or Ubuntu" >&2; exit 1; }

wanted=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  there "$1" || wanted="$wanted $1"
  shift
done
[ $# -eq 0 ] || shift # --; what is left is optional
if [ -z "$wanted" ]; then
  say "nothing to do" # optional packages came with the first run, if there were any
  exit 0
fi

root="env"
[ "$(id -u)" -eq 0 ] || root="sudo env"
apt() { $root DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o DPkg::Lock::Timeout=900 "$@"; }

apt update
missing=
for w in $wanted; do
  chosen=
  for p in $(either "$w"); do
    if [ -z "$chosen" ] && known "$p"; then chosen=$p; fi
  done
  missing="$missing ${chosen:-${w%%|*}}"
done
for p in "$@"; do
  if ! installed "$p" && known "$p"; then missing="$missing $p"; fi
done

say "going to install (with what they depend on):$missing"
# shellcheck disable=SC2086 # a list of words
plan=$(apt install -s --no-install-recommends $missing)
if [ -d /run/systemd/system ] && echo "$plan" | grep -q '^Inst systemd \['; then
  say "this would upgrade systemd, which is left to you: apt-get install systemd, then run this again" >&2
  exit 1
fi
say "$(echo "$plan" | grep -c '^Inst ') packages in all"

# No package may start a service. A policy of the machine's own stays as it is; ours goes with us.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap '$root rm -f $policy' EXIT
  trap 'exit 130' INT TERM
  printf '#!/bin/sh\nexit 101\n' | $root tee $policy >/dev/null
  $root chmod 755 $policy
fi
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing
say "done"

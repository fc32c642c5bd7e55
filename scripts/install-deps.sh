#!/bin/sh
# Installs what the tests and the demo need for real virtual machines on Debian or Ubuntu: QEMU,
# libvirt and its helpers; with "tests" also what only tests need: ansible-playbook.
# Says what it is going to install; does nothing where everything is there.
# No service is started: hale's lab runs a libvirtd of its own. systemd is never upgraded.
# Run as root, or as a user who may sudo.
set -eu

# Known to every supported release.
needed="qemu-system-x86 qemu-utils libvirt-daemon-system libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients
dnsmasq-base nftables iptables iproute2 iputils-ping xz-utils zstd ca-certificates"
# Only where the release has it: on machines without systemd the first satisfies libvirt-daemon-system
# (naming it avoids an upgrade of systemd); newer releases of libvirt have its network driver apart.
wanted="libvirt-daemon-driver-network libvirt-daemon-driver-storage"
[ -d /run/systemd/system ] || wanted="libvirt-daemon-system-sysv $wanted"

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
known() { apt-cache show --no-all-versions "$1" 2>/dev/null | grep -q '^Package:'; }
say() { echo "install-deps: $*"; }

[ "$(uname -m)" = x86_64 ] || { say "the lab's guest exists for x86_64 only" >&2; exit 1; }
command -v apt-get >/dev/null || { say "this needs apt: Debian or Ubuntu" >&2; exit 1; }

missing=
for p in $needed; do installed "$p" || missing="$missing $p"; done
playbooks=
if [ "${1:-}" = tests ] && ! command -v ansible-playbook >/dev/null; then playbooks=ansible-core; fi
if [ -z "$missing$playbooks" ]; then
  # Optional packages came with the first run, if there were any.
  say "nothing to do"
  exit 0
fi

root="env"
[ "$(id -u)" -eq 0 ] || root="sudo env"
apt() { $root DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o DPkg::Lock::Timeout=120 "$@"; }

apt update
for p in $wanted; do
  if ! installed "$p" && known "$p"; then missing="$missing $p"; fi
done
if [ -n "$playbooks" ] && ! known "$playbooks"; then playbooks=ansible; fi # before the core was a package of its own
missing="$missing $playbooks"

say "going to install (with what they depend on):$missing"
# shellcheck disable=SC2086 # a list of words
plan=$(apt install -s --no-install-recommends $missing)
if echo "$plan" | grep -q '^Inst systemd \['; then
  say "this would upgrade systemd, which is left to you: apt-get install systemd, then run this again" >&2
  exit 1
fi
echo "$plan" | awk '/^Inst / { n++ } END { printf "install-deps: %d packages in all\n", n }'

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

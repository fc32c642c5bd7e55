#!/bin/sh
# Installs what the tests and the demo need for real virtual machines on Debian or Ubuntu: QEMU,
# libvirt and its helpers; with "tests" also what only tests need: ansible-playbook, a
# simulated power controller, and what speaks to it, node, Prometheus, Alertmanager and HAProxy.
# Says what it is going to install; does nothing where everything is there.
# No service is started: hale's lab runs a libvirtd of its own.
# Run as root, or as a user who may sudo.
set -eu
cd "$(dirname "$0")/.."

# Known to every supported release.
needed="qemu-system-x86 qemu-utils libvirt-daemon-system libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients
dnsmasq-base nftables iptables iproute2 iputils-ping xz-utils zstd ca-certificates"
# Only where the release has it: on machines without systemd the first satisfies libvirt-daemon-system
# (naming it avoids an upgrade of systemd); newer releases of libvirt have its network driver apart.
optional="libvirt-daemon-driver-network libvirt-daemon-driver-storage"
[ -d /run/systemd/system ] || optional="libvirt-daemon-system-sysv $optional"

[ "$(uname -m)" = x86_64 ] || { echo "install-deps: the lab's guest exists for x86_64 only" >&2; exit 1; }
if [ "${1:-}" = tests ]; then
  command -v ansible-playbook >/dev/null || needed="$needed ansible-core|ansible" # before the core was a package of its own
  command -v npm >/dev/null || needed="$needed nodejs npm" # for the OpenID provider, which is a package of npm's
  # Agents are packages of their own, or groups of them, or all in one, by the release.
  needed="$needed openipmi ipmitool fence-agents-ipmilan|fence-agents-base|fence-agents fence-agents-redfish|fence-agents-base|fence-agents
fence-agents-virsh|fence-agents-base|fence-agents fence-virt fence-virtd openssh-client
openssh-server netcat-openbsd sasl2-bin libsasl2-modules prometheus prometheus-alertmanager haproxy bind9-utils|bind9utils"
fi
# shellcheck disable=SC2086 # lists of words
exec scripts/apt-install.sh install-deps $needed -- $optional

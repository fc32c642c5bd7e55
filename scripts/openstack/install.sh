#!/bin/sh
# Installs what the tests on a real OpenStack need on Debian: Keystone, Placement, Glance, Neutron and Nova as libraries,
# with MariaDB, RabbitMQ and memcached. Says what it is going to install; does nothing where everything is there.
# No service is started, and none is configured: internal/cloud runs daemons of its own. Run as root, or as a user who may sudo.
set -eu

# Not the packages of the daemons: nova-compute alone would bring libvirt and QEMU. nova-conductor and nova-scheduler only have the
# programs that python3-nova leaves out.
needed="mariadb-server mariadb-client rabbitmq-server memcached python3-memcache python3-pymysql uwsgi-core uwsgi-plugin-python3
python3-keystone python3-placement python3-glance glance-common python3-nova nova-common nova-conductor nova-scheduler
python3-neutron neutron-common python3-openstacksdk util-linux curl ca-certificates"

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
say() { echo "openstack: $*"; }

command -v apt-get >/dev/null || { say "this needs apt: Debian 12 or later, or Ubuntu" >&2; exit 1; }
missing=
for p in $needed; do installed "$p" || missing="$missing $p"; done
if [ -z "$missing" ]; then
  say "nothing to install"
  exit 0
fi

root="env"
[ "$(id -u)" -eq 0 ] || root="sudo env"
apt() { $root DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o DPkg::Lock::Timeout=900 "$@"; }

apt update
say "going to install (with what they depend on):$missing"
# shellcheck disable=SC2086 # a list of words
plan=$(apt install -s --no-install-recommends $missing)
if echo "$plan" | grep -q '^Inst systemd \['; then
  say "this would upgrade systemd, which is left to you: apt-get install systemd, then run this again" >&2
  exit 1
fi
echo "$plan" | awk '/^Inst / { n++ } END { printf "openstack: %d packages in all\n", n }'

# No package may start a service. A policy of the machine's own stays as it is; ours goes with us.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap '$root rm -f $policy' EXIT
  trap 'exit 130' INT TERM
  printf '#!/bin/sh\nexit 101\n' | $root tee $policy >/dev/null
  $root chmod 755 $policy
fi
# The packages would each ask about a database of their own.
echo "dbconfig-common dbconfig-common/dbconfig-install boolean false" | $root debconf-set-selections
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing
say "done"

#!/bin/sh
# Installs what the tests on a real OpenStack need on Debian: Keystone, Placement, Glance, Neutron, Cinder, Octavia and Nova as libraries,
# with MariaDB, RabbitMQ and memcached. Says what it is going to install; does nothing where everything is there.
# No service is started, and none is configured: internal/testbed/cloud and internal/testbed/octavia run daemons of their own. Run as root, or as a user who may sudo.
set -eu
cd "$(dirname "$0")/../.."

# Not the packages of the daemons: nova-compute alone would bring libvirt and QEMU. nova-conductor and nova-scheduler only have the
# programs that python3-nova leaves out.
needed="mariadb-server mariadb-client rabbitmq-server memcached python3-memcache python3-pymysql uwsgi-core uwsgi-plugin-python3
python3-keystone python3-placement python3-glance glance-common python3-nova nova-common nova-conductor nova-scheduler
python3-neutron neutron-common python3-cinder cinder-common python3-octavia octavia-common python3-openstacksdk util-linux curl ca-certificates"

if command -v debconf-set-selections >/dev/null; then
  root="env"
  [ "$(id -u)" -eq 0 ] || root="sudo env"
  # The packages would each ask about a database of their own.
  echo "dbconfig-common dbconfig-common/dbconfig-install boolean false" | $root debconf-set-selections
fi
# shellcheck disable=SC2086 # a list of words
exec scripts/apt-install.sh openstack $needed

#!/usr/bin/env bash
# A small real OpenStack: Keystone, Placement, Glance, Neutron, Cinder and Nova, these two with drivers that do nothing, on MariaDB, RabbitMQ and memcached, as
# plain processes that listen on loopback only.
#
#   cloud.sh DIR HERE READY [wipe]
#
# It is the first process of new PID, mount and network namespaces (internal/testbed/cloud, or scripts/openstack/start.sh, make them), so
# that its ports are nobody else's and everything ends with it. It keeps all in DIR, takes its parts from the folder HERE, touches
# the file READY when a server can be made, and ends when its standard input does; with wipe, DIR goes too.
#
# NOVA_COMPUTES is the number of hosts, 1 if not set.
set -euo pipefail

dir=$1 here=$2 ready=$3 wipe=${4:-}
etc=$dir/etc log=$dir/log run=$dir/run
password=hale
computes=${NOVA_COMPUTES:-1}
rabbit=rabbit://os:$password@127.0.0.1:5672/

prepare() {
    mount --make-rprivate /
    mount -t proc proc /proc
    ip link set lo up
    # A login shell's Python may be another one than Debian's modules are for; no proxy is between here and loopback.
    export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=$dir/home NO_PROXY='*' no_proxy='*' PYTHONPATH=$dir/python PYTHONDONTWRITEBYTECODE=1
    unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
    mkdir -p "$etc"/{keystone,placement,glance,cinder,nova,nova-soft,neutron} "$log" "$run" "$dir"/{mysql,rabbit,images,state,lock,home,fernet,credential,python,crashes,disks}
    chmod 700 "$dir/home" # Erlang wants its cookie to itself
}

# daemon NAME COMMAND...: starts it in a process group of its own, whose number is in run/NAME.pid.
daemon() {
    local name=$1
    shift
    setsid "$@" >>"$log/$name.out" 2>&1 </dev/null &
    echo $! >"$run/$name.pid"
}

# await WHAT COMMAND...: repeats the command until it succeeds.
await() {
    local what=$1 tries
    shift
    for ((tries = 0; tries < 1200; tries++)); do
        if "$@" >/dev/null 2>&1; then return 0; fi
        read -rt 0.25 <> <(:) || true
    done
    echo "cloud: no $what after five minutes, see $log" >&2
    exit 1
}
open() { (exec 3<>"/dev/tcp/127.0.0.1/$1"); }
answers() {
    local code
    code=$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$1")
    [ "$code" -ge 200 ] && [ "$code" -lt 500 ]
}

database() { echo "mysql+pymysql://os:$password@127.0.0.1/$1?charset=utf8"; }
sql() { mariadb --no-defaults -uroot -S "$dir/mysql.sock" "$@"; }

start_mariadb() {
    if [ ! -d "$dir/mysql/mysql" ]; then
        mariadb-install-db --user=root --datadir="$dir/mysql" --auth-root-authentication-method=normal --skip-test-db >"$log/mysql-init.out" 2>&1
    fi
    daemon mariadb mariadbd --no-defaults --user=root --datadir="$dir/mysql" --socket="$dir/mysql.sock" --pid-file="$dir/mysql.pid" \
        --bind-address=127.0.0.1 --port=3306 --max-connections=1000 --innodb-buffer-pool-size=192M --innodb-flush-log-at-trx-commit=0 \
        --sync-binlog=0 --skip-name-resolve
}

make_databases() {
    local name
    for name in keystone placement glance cinder nova_api nova nova_cell0 neutron; do echo "create database $name character set utf8;"; done
    echo "create user os@127.0.0.1 identified by '$password'; grant all on *.* to os@127.0.0.1;"
}

rabbit_env=()
start_rabbitmq() {
    printf 'listeners.tcp.1 = 127.0.0.1:5672\nlog.console = false\nvm_memory_high_watermark.relative = 0.2\n' >"$etc/rabbitmq.conf"
    printf 'NODENAME=cloud@localhost\nNODE_IP_ADDRESS=127.0.0.1\n' >"$etc/rabbitmq-env.conf"
    rabbit_env=(env RABBITMQ_NODENAME=cloud@localhost RABBITMQ_CONF_ENV_FILE="$etc/rabbitmq-env.conf" RABBITMQ_CONFIG_FILE="$etc/rabbitmq.conf"
        RABBITMQ_MNESIA_BASE="$dir/rabbit" RABBITMQ_LOG_BASE="$log" RABBITMQ_ENABLED_PLUGINS_FILE="$etc/enabled_plugins" ERL_EPMD_ADDRESS=127.0.0.1
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}")
    daemon rabbitmq "${rabbit_env[@]}" /usr/lib/rabbitmq/bin/rabbitmq-server
}

make_rabbit_user() {
    local control=("${rabbit_env[@]}" /usr/lib/rabbitmq/bin/rabbitmqctl)
    await "RabbitMQ" open 5672
    "${control[@]}" await_startup
    if [ ! -e "$dir/rabbit.done" ]; then
        "${control[@]}" add_user os $password
        "${control[@]}" set_permissions os '.*' '.*' '.*'
        # What Nova tells and nobody reads must not pile up.
        "${control[@]}" set_policy notifications 'notifications\.' '{"max-length": 1000}' --apply-to queues
        touch "$dir/rabbit.done"
    fi
}

# Every service checks tokens, and some ask for their own.
credentials() {
    printf '[%s]\nauth_type = password\nauth_url = http://127.0.0.1:5000/v3\nproject_domain_name = Default\nuser_domain_name = Default\n' "$1"
    printf 'project_name = service\nusername = %s\npassword = %s\nregion_name = RegionOne\n' "$2" "$password"
}
checks_tokens() {
    credentials keystone_authtoken "$1"
    printf 'www_authenticate_uri = http://127.0.0.1:5000/v3\nmemcached_servers = 127.0.0.1:11211\nservice_token_roles_required = false\n'
}
cached() { printf '[cache]\nenabled = true\nbackend = dogpile.cache.memcached\nmemcache_servers = 127.0.0.1:11211\n'; }
# The packages bring files with policies of their own; without them the services' defaults hold.
own_policies() { printf '[oslo_policy]\npolicy_dirs = none\n'; }

configure_keystone() {
    printf '[DEFAULT]\nlog_file = %s/keystone.log\n[database]\nconnection = %s\n' "$log" "$(database keystone)"
    printf '[token]\nprovider = fernet\nexpiration = 86400\n[fernet_tokens]\nkey_repository = %s/fernet\n[credential]\nkey_repository = %s/credential\n' "$dir" "$dir"
    cached
}
configure_placement() {
    printf '[DEFAULT]\nlog_file = %s/placement.log\n[placement_database]\nconnection = %s\n[api]\nauth_strategy = keystone\n' "$log" "$(database placement)"
    checks_tokens placement
}
configure_glance() {
    local store
    printf '[DEFAULT]\nlog_file = %s/glance.log\nenabled_backends = files:file\nworkers = 1\n[database]\nconnection = %s\n' "$log" "$(database glance)"
    printf '[paste_deploy]\nflavor = keystone\n[glance_store]\ndefault_backend = files\n'
    for store in files os_glance_staging_store os_glance_tasks_store; do printf '[%s]\nfilesystem_store_datadir = %s/images\n' $store "$dir"; done
    checks_tokens glance
}
configure_neutron() {
    cat <<END
[DEFAULT]
log_file = $log/neutron.log
state_path = $dir/state
bind_host = 127.0.0.1
bind_port = 9696
api_workers = 1
rpc_workers = 0
core_plugin = ml2
service_plugins = router
transport_url = $rabbit
api_paste_config = /usr/share/neutron-common/api-paste.ini
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
[database]
connection = $(database neutron)
[ml2]
mechanism_drivers = bindsall
type_drivers = local
tenant_network_types = local
extension_drivers = port_security
[securitygroup]
enable_security_group = true
[quotas]
quota_port = -1
[oslo_concurrency]
lock_path = $dir/lock
END
    own_policies
    checks_tokens neutron
}
configure_cinder() {
    cat <<END
[DEFAULT]
host = controller
my_ip = 127.0.0.1
log_file = $log/cinder.log
state_path = $dir/state
transport_url = $rabbit
auth_strategy = keystone
api_paste_config = /usr/share/cinder-common/api-paste.ini
osapi_volume_listen = 127.0.0.1
osapi_volume_workers = 1
enabled_backends = nowhere
glance_api_servers = http://127.0.0.1:9292
quota_volumes = -1
[nowhere]
volume_driver = nowhere.Driver
volume_backend_name = nowhere
[database]
connection = $(database cinder)
[coordination]
backend_url = file://$dir/state
[oslo_concurrency]
lock_path = $dir/lock
[oslo_messaging_rabbit]
heartbeat_in_pthread = false
END
    own_policies
    credentials nova cinder
    checks_tokens cinder
}
# configure_nova HOST LOG [LINE [ADDRESS]]: notification_format both means the versioned ones and the old ones.
configure_nova() {
    cat <<END
[DEFAULT]
${3:-}
host = $1
my_ip = ${4:-127.0.0.1}
log_file = $log/$2.log
state_path = $dir/state
transport_url = $rabbit
compute_driver = crashing.FakeDriver
vif_plugging_is_fatal = false
vif_plugging_timeout = 0
osapi_compute_workers = 1
max_concurrent_builds = 0
report_interval = 2
service_down_time = 8
allow_resize_to_same_host = true
block_device_allocate_retries_interval = 1
[api]
auth_strategy = keystone
[api_database]
connection = $(database nova_api)
[database]
connection = $(database nova)
[quota]
instances = 1000
cores = -1
ram = -1
server_groups = -1
[conductor]
workers = 1
[scheduler]
workers = 1
discover_hosts_in_cells_interval = 30
[notifications]
notification_format = both
notify_on_state_change = vm_and_task_state
bdms_in_notifications = false
[oslo_messaging_notifications]
driver = messagingv2
transport_url = $rabbit
[oslo_messaging_rabbit]
heartbeat_in_pthread = false
[glance]
api_servers = http://127.0.0.1:9292
[vnc]
enabled = false
[oslo_concurrency]
lock_path = $dir/lock
END
    cached
    own_policies
    credentials placement placement
    credentials neutron neutron
    credentials cinder nova
    printf 'os_region_name = RegionOne\n'
    credentials service_user nova # without it Cinder gives up no volume that a server has
    printf 'send_service_user_token = true\n'
    checks_tokens nova
}

configure() {
    local n part
    configure_keystone >"$etc/keystone/keystone.conf"
    configure_placement >"$etc/placement/placement.conf"
    configure_glance >"$etc/glance/glance-api.conf"
    cp /usr/share/glance-common/glance-api-paste.ini "$etc/glance/"
    configure_neutron >"$etc/neutron/neutron.conf"
    configure_cinder >"$etc/cinder/cinder.conf"
    configure_nova controller nova-api >"$etc/nova/nova.conf"
    configure_nova controller nova-api-soft "reclaim_instance_interval = 3600" >"$etc/nova-soft/nova.conf"
    for part in nova nova-soft; do cp /usr/share/nova-common/api-paste.ini "$etc/$part/"; done
    for part in conductor scheduler; do configure_nova controller nova-$part >"$etc/nova/$part.conf"; done
    for ((n = 1; n <= computes; n++)); do configure_nova "compute$n" "nova-compute$n" "" "192.0.2.$n" >"$etc/nova/compute$n.conf"; done
    # Neutron finds its drivers by what packages announce.
    mkdir -p "$dir/python/bindsall-1.dist-info"
    printf 'Metadata-Version: 2.1\nName: bindsall\nVersion: 1\n' >"$dir/python/bindsall-1.dist-info/METADATA"
    printf '[neutron.ml2.mechanism_drivers]\nbindsall = bindsall:BindsAll\n' >"$dir/python/bindsall-1.dist-info/entry_points.txt"
    cp "$here/ports.py" "$dir/python/bindsall.py"
}

# The accounts that tests use: admin, and two people with nothing but the role of a member, in two projects.
write_clouds() {
    local who
    echo "clouds:"
    for who in admin demo other; do
        printf '  %s:\n    auth: {auth_url: "http://127.0.0.1:5000/v3", username: %s, password: %s, project_name: %s, user_domain_name: Default, project_domain_name: Default}\n' \
            $who $who $password $who
        printf '    region_name: RegionOne\n'
    done
}

make_schemas() {
    local keystone=(keystone-manage --config-file "$etc/keystone/keystone.conf") nova=(nova-manage --config-file "$etc/nova/nova.conf") pids=() pid
    (
        "${keystone[@]}" db_sync
        "${keystone[@]}" fernet_setup --keystone-user root --keystone-group root
        "${keystone[@]}" credential_setup --keystone-user root --keystone-group root
        "${keystone[@]}" bootstrap --bootstrap-password $password --bootstrap-region-id RegionOne --bootstrap-admin-url http://127.0.0.1:5000/v3/ \
            --bootstrap-internal-url http://127.0.0.1:5000/v3/ --bootstrap-public-url http://127.0.0.1:5000/v3/
    ) >"$log/keystone-init.out" 2>&1 &
    pids+=($!)
    (
        placement-manage --config-file "$etc/placement/placement.conf" db sync
        glance-manage --config-file "$etc/glance/glance-api.conf" db_sync
        neutron-db-manage --config-file "$etc/neutron/neutron.conf" upgrade heads
    ) >"$log/small-init.out" 2>&1 &
    pids+=($!)
    cinder-manage --config-file "$etc/cinder/cinder.conf" db sync >"$log/cinder-init.out" 2>&1 &
    pids+=($!)
    (
        "${nova[@]}" api_db sync
        "${nova[@]}" cell_v2 map_cell0 --database_connection "$(database nova_cell0)"
        "${nova[@]}" db sync
        "${nova[@]}" cell_v2 create_cell --name cell1 --database_connection "$(database nova)" --transport-url "$rabbit"
    ) >"$log/nova-init.out" 2>&1 &
    pids+=($!)
    for pid in "${pids[@]}"; do
        wait "$pid" || { echo "cloud: a schema was not made, see $log/*-init.out" >&2; exit 1; }
    done
}

# web NAME PORT PROGRAM PROCESSES [NOVA'S FOLDER]
web() {
    daemon "$1" env OS_KEYSTONE_CONFIG_FILES="$etc/keystone/keystone.conf" OS_PLACEMENT_CONFIG_DIR="$etc/placement" OS_GLANCE_CONFIG_DIR="$etc/glance" \
        OS_NOVA_CONFIG_DIR="$etc/${5:-nova}" uwsgi --plugin python3 --http-socket "127.0.0.1:$2" --wsgi-file "$3" --master --die-on-term --lazy-apps \
        --enable-threads --threads 1 --processes "$4" --buffer-size 65535 --so-keepalive --add-header 'Connection: close' --disable-logging \
        --thunder-lock --procname-prefix-spaced "$1"
}

start_services() {
    local n
    web placement 8778 /usr/bin/placement-api 1
    web glance 9292 /usr/bin/glance-wsgi-api 1
    daemon neutron neutron-server --config-file "$etc/neutron/neutron.conf"
    daemon cinder /usr/bin/python3 "$here/storage.py" --config-file "$etc/cinder/cinder.conf"
    daemon nova-conductor nova-conductor --config-file "$etc/nova/conductor.conf"
    web nova-api 8774 /usr/bin/nova-api-wsgi 2
    web nova-api-soft 8773 /usr/bin/nova-api-wsgi 1 nova-soft # the same one, but what is deleted there is only set aside
    daemon nova-scheduler nova-scheduler --config-file "$etc/nova/scheduler.conf"
    await "Placement" answers 8778
    for ((n = 1; n <= computes; n++)); do
        daemon "nova-compute$n" env CRASHES="$dir/crashes" DISKS="$dir/disks" /usr/bin/python3 "$here/computer.py" --config-file "$etc/nova/compute$n.conf"
    done
    await "Nova" answers 8774
    await "Glance" answers 9292
    await "Neutron" answers 9696
    await "Cinder" answers 8776
}

hosts_mapped() {
    nova-manage --config-file "$etc/nova/nova.conf" cell_v2 discover_hosts >>"$log/discover.out" 2>&1
    [ "$(sql -N -e 'select count(*) from nova_api.host_mappings')" -ge "$computes" ]
}

main() {
    local fresh=
    prepare
    configure
    write_clouds >"$dir/clouds.yaml"
    start_mariadb
    start_rabbitmq
    daemon memcached memcached -u root -l 127.0.0.1 -p 11211 -m 64
    await "MariaDB" open 3306
    if ! sql -N -e 'use keystone' 2>/dev/null; then
        fresh=yes
        make_databases | sql
        make_schemas
    fi
    web keystone 5000 /usr/bin/keystone-wsgi-public 2
    await "Keystone" answers 5000/v3
    if [ -n "$fresh" ]; then /usr/bin/python3 "$here/catalogue.py" "$dir/clouds.yaml" $password accounts; fi
    make_rabbit_user >"$log/rabbit-init.out" 2>&1
    start_services
    if [ -n "$fresh" ]; then /usr/bin/python3 "$here/catalogue.py" "$dir/clouds.yaml" $password things; fi
    await "hosts" hosts_mapped
    touch "$ready"
}

# As the first process, its end is everybody's: it ends when the start fails, and when whoever started it closes the other end, or dies.
trap 'if [ -n "$wipe" ]; then kill -KILL -1 2>/dev/null || true; rm -rf "$dir"; fi' EXIT
exec 3<&0
cat <&3 >/dev/null &
life=$!
main 3<&- &
starting=$!
wait -n "$life" "$starting"
wait "$life"

"""Fills an empty cloud: services and their users, two projects with people in them, flavors, an image and networks.

usage: catalogue.py CLOUDS_YAML PASSWORD accounts|things
"""
import sys

import openstack

file, password, part = sys.argv[1:4]
REGION = 'RegionOne'
# The same services, reached by ports at which a test may listen in between.
PROXIED = 'Proxied'
SERVICES = {
    'nova': ('compute', 'http://127.0.0.1:8774/v2.1'),
    'placement': ('placement', 'http://127.0.0.1:8778'),
    'glance': ('image', 'http://127.0.0.1:9292'),
    'neutron': ('network', 'http://127.0.0.1:9696'),
    'cinder': ('volumev3', 'http://127.0.0.1:8776/v3/$(project_id)s'),
}


def connect(cloud):
    return openstack.connection.from_config(config=openstack.config.OpenStackConfig(config_files=[file]).get_one(cloud=cloud))


def accounts(cloud):
    identity = cloud.identity
    identity.create_region(id=PROXIED)
    admin, member = identity.find_role('admin'), identity.find_role('member')
    service = cloud.create_project('service', domain_id='default')
    role = cloud.create_role('service')
    for name, (kind, url) in SERVICES.items():
        user = identity.create_user(name=name, password=password, default_project_id=service.id, domain_id='default')
        for each in (admin, role):
            identity.assign_project_role_to_user(service.id, user.id, each.id)
        entry = identity.create_service(name=name, type=kind)
        for interface in ('public', 'internal', 'admin'):
            identity.create_endpoint(service_id=entry.id, interface=interface, region_id=REGION, url=url)
            identity.create_endpoint(service_id=entry.id, interface=interface, region_id=PROXIED, url=url.replace('127.0.0.1:', '127.0.0.1:1'))
    for name in ('demo', 'other'):
        project = cloud.create_project(name, domain_id='default')
        user = identity.create_user(name=name, password=password, domain_id='default', default_project_id=project.id)
        identity.assign_project_role_to_user(project.id, user.id, member.id)


def things(cloud):
    cloud.compute.create_flavor(name='m1.nano', ram=64, vcpus=1, disk=1, id='42')
    cloud.compute.create_flavor(name='m1.micro', ram=128, vcpus=1, disk=1, id='84')
    cloud.image.create_image(name='tiny', disk_format='raw', container_format='bare', visibility='public',
                             data=b'\0' * 4096, validate_checksum=False)
    cloud.block_storage.create_type(name='fast')
    # Nothing is made of this one: no storage has what it takes.
    cloud.block_storage.create_type(name='absent', extra_specs={'volume_backend_name': 'absent'})
    public = cloud.network.create_network(name='public', is_router_external=True)
    cloud.network.create_subnet(network_id=public.id, ip_version=4, cidr='172.24.0.0/16', name='public4', enable_dhcp=False)
    for name, cidr in (('demo', '10.10.0.0/16'), ('other', '10.20.0.0/16')):
        project = cloud.identity.find_project(name)
        private = cloud.network.create_network(name='private', project_id=project.id)
        subnet = cloud.network.create_subnet(network_id=private.id, project_id=project.id, ip_version=4, cidr=cidr, name='private4', enable_dhcp=False)
        router = cloud.network.create_router(name='edge', project_id=project.id, external_gateway_info={'network_id': public.id})
        cloud.network.add_interface_to_router(router, subnet_id=subnet.id)
    # A network of somebody else's that everybody may use: ports in it take no chosen address.
    shared = cloud.network.create_network(name='shared', is_shared=True)
    cloud.network.create_subnet(network_id=shared.id, ip_version=4, cidr='10.30.0.0/16', name='shared4', enable_dhcp=False)


{'accounts': accounts, 'things': things}[part](connect('admin'))

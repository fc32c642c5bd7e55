"""Binds every port at once: there are no agents, and the computers behind the ports are not real."""
from neutron_lib.plugins.ml2 import api


class BindsAll(api.MechanismDriver):
    def initialize(self):
        pass

    @property
    def connectivity(self):
        return 'l2'

    def bind_port(self, context):
        for segment in context.segments_to_bind:
            context.set_binding(segment[api.ID], 'ovs', {'port_filter': True}, status='ACTIVE')
            return

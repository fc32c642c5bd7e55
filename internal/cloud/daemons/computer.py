"""Nova's compute service on its fake driver, with machines that can crash, and a hypervisor that can fail.

A file named after a server's id in the folder CRASHES lets that server's machine end as if its guest or its hypervisor's
process had died: the driver tells Nova what libvirt's would. The file is removed when it has happened.

A file ID.OPERATION there, with the operation destroy, spawn, reboot or power_on, lets the hypervisor fail whenever Nova asks it to do that
with the server, for as long as the file is there.
"""
import os
import sys
import time

CRASHES = os.environ['CRASHES']
sys.argv[0] = 'nova-compute'

from nova.cmd import compute  # noqa: E402  (it patches the standard library first)
import eventlet  # noqa: E402
from nova import exception  # noqa: E402
from nova.compute import power_state  # noqa: E402
from nova.virt import event, fake  # noqa: E402


def fail_if_told(instance, operation):
    if os.path.exists(os.path.join(CRASHES, instance.uuid + '.' + operation)):
        # Of all the driver's errors this is the one after which Nova leaves the server's network alone.
        raise exception.InstancePowerOffFailure(reason='the hypervisor does not ' + operation)


class FakeDriver(fake.FakeDriver):
    def init_host(self, host):
        super().init_host(host)
        eventlet.spawn(self._crash_for_ever)

    def _crash_for_ever(self):
        while True:
            for uuid in os.listdir(CRASHES):
                if uuid in self.instances:
                    self._crash(uuid)
            eventlet.sleep(0.1)

    def _crash(self, uuid):
        self.instances[uuid].state = power_state.SHUTDOWN
        self.emit_event(event.LifecycleEvent(uuid, event.EVENT_LIFECYCLE_STOPPED, time.time()))
        os.unlink(os.path.join(CRASHES, uuid))

    def destroy(self, context, instance, *args, **kwargs):
        fail_if_told(instance, 'destroy')
        return super().destroy(context, instance, *args, **kwargs)

    def spawn(self, context, instance, *args, **kwargs):
        fail_if_told(instance, 'spawn')
        return super().spawn(context, instance, *args, **kwargs)

    def reboot(self, context, instance, *args, **kwargs):
        fail_if_told(instance, 'reboot')
        return super().reboot(context, instance, *args, **kwargs)

    def power_off(self, instance, *args, **kwargs):
        if instance.uuid in self.instances:  # what is not there is off, as libvirt's driver has it
            super().power_off(instance, *args, **kwargs)

    def power_on(self, context, instance, *args, **kwargs):
        fail_if_told(instance, 'power_on')
        return super().power_on(context, instance, *args, **kwargs)


# Nova looks for drivers in this package only.
sys.modules['nova.virt.crashing'] = sys.modules[__name__]
compute.main()

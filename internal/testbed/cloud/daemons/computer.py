"""Nova's compute service on its fake driver, with machines that can crash, and a hypervisor that can fail.

A file named after a server's id in the folder CRASHES lets that server's machine end as if its guest or its hypervisor's
process had died: the driver tells Nova what libvirt's would. The file is removed when it has happened.

A file ID.OPERATION there, with the operation destroy, spawn, reboot, power_on or snapshot, lets the hypervisor fail whenever Nova asks it to do that
with the server, for as long as the file is there.

A file named after the server in the folder DISKS is its disk: how often a guest booted from it. An image of the server is made of that.
"""
import io
import os
import sys
import time

CRASHES = os.environ['CRASHES']
DISKS = os.environ['DISKS']
sys.argv[0] = 'nova-compute'

from nova.cmd import compute  # noqa: E402  (it patches the standard library first)
import eventlet  # noqa: E402
from nova import exception  # noqa: E402
from nova.compute import power_state  # noqa: E402
from nova.compute import vm_states  # noqa: E402
from nova.image import glance  # noqa: E402
from nova.virt import event, fake  # noqa: E402


def fail_if_told(instance, operation):
    if os.path.exists(os.path.join(CRASHES, instance.uuid + '.' + operation)):
        # Of all the driver's errors this is the one after which Nova leaves the server's network alone.
        raise exception.InstancePowerOffFailure(reason='the hypervisor does not ' + operation)


def disk(instance):
    return os.path.join(DISKS, instance.uuid)


def read_disk(instance):
    try:
        with open(disk(instance)) as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def write_disk(instance, boots):
    with open(disk(instance) + '.new', 'w') as file:
        file.write(str(boots))
    os.rename(disk(instance) + '.new', disk(instance))


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
        super().spawn(context, instance, *args, **kwargs)
        # One that was off is stopped again at once when it is built anew: its guest does not come far.
        write_disk(instance, 0 if instance.vm_state == vm_states.STOPPED else 1)

    def snapshot(self, context, instance, image_id, update_task_state):
        boots = read_disk(instance)
        super().snapshot(context, instance, image_id, update_task_state)
        fail_if_told(instance, 'snapshot')
        glance.API().update(context, image_id, {'status': 'active', 'disk_format': 'raw', 'container_format': 'bare'},
                            io.BytesIO(b'boots %d\n' % boots))

    def finish_migration(self, context, migration, instance, disk_info, network_info, image_meta, resize_instance, allocations,
                         block_device_info=None, power_on=True):
        boots = read_disk(instance)  # a resize takes the disk along, and what was off stays off, as libvirt's driver has it
        super().finish_migration(context, migration, instance, disk_info, network_info, image_meta, resize_instance, allocations,
                                 block_device_info, power_on)
        write_disk(instance, boots + (1 if power_on else 0))
        if not power_on:
            self.instances[instance.uuid].state = power_state.SHUTDOWN

    def reboot(self, context, instance, *args, **kwargs):
        fail_if_told(instance, 'reboot')
        return super().reboot(context, instance, *args, **kwargs)

    def power_off(self, instance, *args, **kwargs):
        if instance.uuid in self.instances:  # what is not there is off, as libvirt's driver has it
            super().power_off(instance, *args, **kwargs)

    def power_on(self, context, instance, *args, **kwargs):
        fail_if_told(instance, 'power_on')
        super().power_on(context, instance, *args, **kwargs)
        write_disk(instance, read_disk(instance) + 1)


# Nova looks for drivers in this package only.
sys.modules['nova.virt.crashing'] = sys.modules[__name__]
compute.main()

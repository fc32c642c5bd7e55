"""Nova's compute service on its fake driver, with machines that can crash.

A file named after a server's id in the folder CRASHES lets that server's machine end as if its guest or its hypervisor's
process had died: the driver tells Nova what libvirt's would. The file is removed when it has happened.
"""
import os
import sys
import time

CRASHES = os.environ['CRASHES']
sys.argv[0] = 'nova-compute'

from nova.cmd import compute  # noqa: E402  (it patches the standard library first)
import eventlet  # noqa: E402
from nova.compute import power_state  # noqa: E402
from nova.virt import event, fake  # noqa: E402


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


# Nova looks for drivers in this package only.
sys.modules['nova.virt.crashing'] = sys.modules[__name__]
compute.main()

"""All of Cinder in one process: its API, its scheduler and its volume service, on a driver that stores nothing.

What Cinder says of volumes is real, and so is what Nova and Cinder agree on between them; but nothing is ever read or written, as with Nova's
fake driver, whose machines have nothing that could.
"""
import sys

sys.argv[0] = 'cinder'

from cinder.cmd import volume as command  # noqa: E402,F401  (it patches the standard library first)
from oslo_config import cfg  # noqa: E402
from oslo_log import log  # noqa: E402
from oslo_service import service as launching  # noqa: E402
from cinder import objects, rpc, service, utils, version  # noqa: E402
from cinder.common import config  # noqa: E402
from cinder.volume import driver  # noqa: E402

BACKEND = 'nowhere'


class Driver(driver.VolumeDriver):
    """Takes every order, and does nothing."""

    VERSION = '1'

    def nothing(self, *args, **kwargs):
        pass

    do_setup = check_for_setup_error = nothing
    create_volume = create_cloned_volume = create_volume_from_snapshot = delete_volume = extend_volume = nothing
    create_snapshot = delete_snapshot = nothing
    create_export = ensure_export = remove_export = terminate_connection = nothing
    copy_image_to_volume = copy_volume_to_image = nothing

    def clone_image(self, context, volume, location, meta, images):
        return None, True  # there is nothing to fetch it for

    def initialize_connection(self, volume, connector):
        return {'driver_volume_type': 'fake', 'data': {'volume_id': volume.id}}

    def _update_volume_stats(self):
        self._stats = {
            'volume_backend_name': BACKEND, 'vendor_name': 'none', 'driver_version': self.VERSION, 'storage_protocol': 'none',
            'total_capacity_gb': 'infinite', 'free_capacity_gb': 'infinite', 'reserved_percentage': 0,
        }


def main():
    sys.modules[BACKEND] = sys.modules[__name__]  # where Cinder looks for the driver
    objects.register_all()
    cfg.CONF(sys.argv[1:], project='cinder', version=version.version_string())
    config.set_middleware_defaults()
    log.setup(cfg.CONF, 'cinder')
    utils.monkey_patch()
    rpc.init(cfg.CONF)
    launcher = launching.ServiceLauncher(cfg.CONF)
    launcher.launch_service(service.WSGIService('osapi_volume'))
    launcher.launch_service(service.Service.create(binary='cinder-scheduler'))
    launcher.launch_service(service.Service.create(host=cfg.CONF.host + '@' + BACKEND, service_name=BACKEND, binary='cinder-volume', coordination=True))
    launcher.wait()


main()

"""Octavia's API on SQLite, without authentication, and with the driver that does nothing. A thread plays the amphorae: it
ends changes, unless the file busy is there (those of a pool's members that is named in the folder fails end in ERROR), and finds members as the file found says: {MEMBER'S ID: STATUS}."""
import json, os, sqlite3, sys, threading, time

here, port = sys.argv[1], sys.argv[2]
fails = os.path.join(here, 'fails')
conf, base = os.path.join(here, 'octavia.conf'), os.path.join(here, 'octavia.db')
with open(conf, 'w') as f:
    f.write(f"""[DEFAULT]
transport_url = fake://
[api_settings]
bind_host = 127.0.0.1
bind_port = {port}
auth_strategy = noauth
enabled_provider_drivers = noop_driver: noop
default_provider_driver = noop_driver
pagination_max_limit = 2
[database]
connection = sqlite:///{base}
[networking]
[controller_worker]
network_driver = network_noop_driver
compute_driver = compute_noop_driver
amphora_driver = amphora_noop_driver
""")
sys.argv = ['octavia-api', '--config-file', conf]

from octavia.common import constants as c
from octavia.db import base_models, models as m
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
engine = create_engine('sqlite:///' + base)
base_models.BASE.metadata.create_all(engine)
with Session(engine) as s:
    for table, names in ((m.ProvisioningStatus, c.SUPPORTED_PROVISIONING_STATUSES),
                         (m.OperatingStatus, c.SUPPORTED_OPERATING_STATUSES), (m.LBTopology, c.SUPPORTED_LB_TOPOLOGIES),
                         (m.Algorithm, c.SUPPORTED_LB_ALGORITHMS), (m.Protocol, c.SUPPORTED_PROTOCOLS)):
        s.add_all(table(name=n) for n in names)
    s.commit()


# SQLite lets one write at a time, and Octavia does not wait for its turn.
turn = threading.Lock()


def amphorae():
    db = sqlite3.connect(base, timeout=30)
    while True:
        time.sleep(0.05)
        found = {}
        try:
            with open(os.path.join(here, 'found')) as f:
                found = json.load(f)
        except (OSError, ValueError):
            pass
        try:
            with turn, db:
                for member, status in found.items():
                    db.execute('update member set operating_status = ? where id = ?', (status, member))
                if os.path.exists(os.path.join(here, 'busy')):
                    continue
                for pool in os.listdir(fails) if os.path.isdir(fails) else ():
                    db.execute("update member set provisioning_status = 'ERROR' where pool_id = ? and "
                               "provisioning_status like 'PENDING_%'", (pool,))
                db.execute("delete from member where provisioning_status = 'PENDING_DELETE'")
                for table in 'member', 'pool', 'listener', 'load_balancer':
                    db.execute(f"update {table} set provisioning_status = 'ACTIVE' where provisioning_status like 'PENDING_%'")
        except sqlite3.OperationalError as e:
            print('amphorae:', e, flush=True)


threading.Thread(target=amphorae, daemon=True).start()
from octavia.api import app
from octavia.cmd import api
make = app.setup_app


def in_turn(argv=None):
    octavia = make(argv=argv)

    def answer(environ, start_response):
        with turn:
            return list(octavia(environ, start_response))
    return answer


app.setup_app = in_turn
api.main()

#!/usr/bin/env -S python3 -S
"""A provider for hale: plain QEMU processes on this machine, without libvirt, without root.

It is run once for each call: one request on standard input, one answer on standard output (docs/reference/exec-provider.md).
What an instance is lies in a folder, one JSON file each; that it runs is read from /proc, so nothing can be wrong about it after
a crash of anything. Each instance has an address of its own on the loopback, 127.77.x.y, where the template's ports are forwarded.

Environment: STATE_DIR, the folder. Template options: ports (default "80"), accel (default "kvm:tcg"), and run, a command
that stands for the machine, for trials without machines: {run: "sleep 1000000"}.

Each call pays for its start: -S leaves out what Python looks for beside its library, and what few calls need is imported where they need it.
"""
import fcntl, json, os, signal, sys, time

STATE = os.environ.get("STATE_DIR", "/var/lib/plain-qemu")
ABILITIES = ["adjust", "console", "disks", "keep", "rebuild", "resume", "starts", "watch"]


class Trouble(Exception):
    """An error of one of the contract's kinds."""

    def __init__(self, kind, message=""):
        super().__init__(message)
        self.kind = kind


# --- what is written down, and what runs -----------------------------------------------------------------------------------


def path(*parts):
    return os.path.join(STATE, *parts)


def write(instance):
    """Writes an instance down, so that a kill at any moment leaves the old text or the new one."""
    new = path("instances", instance["id"] + ".new")
    with open(new, "w") as f:
        json.dump(instance, f)
        f.flush()
        os.fsync(f.fileno())
    os.rename(new, path("instances", instance["id"] + ".json"))


def read(ident):
    try:
        with open(path("instances", os.path.basename(ident) + ".json")) as f:
            return json.load(f)
    except FileNotFoundError:
        raise Trouble("not found") from None


def everything():
    names = [n[:-5] for n in os.listdir(path("instances")) if n.endswith(".json")]
    found = []
    for name in names:
        try:
            found.append(read(name))
        except Trouble:  # deleted since
            pass
    return found


def processes():
    """Returns the processes of all instances by id, with their states: a process bears its instance's id in its environment."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                mine = [v for v in f.read().split(b"\0") if v.startswith(b"HALE_INSTANCE=")]
            if mine:
                with open(f"/proc/{pid}/stat") as f:
                    state = f.read().rpartition(")")[2].split()[0]
                if state not in "ZX":
                    found.setdefault(mine[0].split(b"=", 1)[1].decode(), []).append((int(pid), state))
        except OSError:  # it ended, or is somebody else's
            pass
    return found


def report(instance, running):
    """Renders an instance as the contract wants it."""
    power, stop = "off", instance["stopped_by"]
    if instance["id"] in running:
        power, stop = "running", ""
        if all(state in "Tt" for _, state in running[instance["id"]]):
            power, stop = "paused", "external"
    elif not stop:
        stop = "crash"  # nobody ordered it
    address = instance["address"] if power == "running" else ""
    return {"id": instance["id"], "name": instance["name"], "power": power, "stop": stop, "address": address,
            "network": instance["template"].get("network", ""), "metadata": instance["template"].get("metadata", {}), "mark": bears(instance),
            "memory_bytes": instance["template"]["memory_bytes"], "cpus": instance["template"]["cpus"]}


def bears(instance):
    """Returns the mark, unless it names another instance: whoever copied that one copied its mark, too. An older hale's names none."""
    mark = instance["mark"]
    return mark if mark and mark.get("instance", instance["id"]) == instance["id"] else None


def power(instance):
    return report(instance, processes())["power"]


# --- machines --------------------------------------------------------------------------------------------------------------


def disk_file(instance, disk):
    """A kept disk belongs to the machine, and is found by each of its instances; another one goes with its instance."""
    mark = instance["mark"]
    if disk["ephemeral"]:
        return path("disks", f'{instance["id"]}.{disk["name"]}.raw')
    return path("kept", f'{mark["installation"]}.{mark["machine"]}.{disk["name"]}.raw')


def sized(instance):
    return [d for d in instance["template"]["disks"] if d.get("size_bytes")]


def make_root(instance):
    image = instance["template"].get("image")
    if not image:
        return
    root = path("disks", instance["id"] + ".root.qcow2")
    call(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", os.path.abspath(image), root + ".new"])
    os.rename(root + ".new", root)


def call(command, **more):
    import subprocess
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode:
        raise Trouble("permanent", f"{command[0]}: {done.stdout.decode(errors='replace').strip()}")


def boot(instance):
    """Starts the machine's process, outside of this program's process group, which hale ends when the call is over."""
    import shlex, subprocess
    if power(instance) == "running":
        return
    instance["stopped_by"] = ""
    write(instance)
    template, env = instance["template"], {**os.environ, "HALE_INSTANCE": instance["id"]}
    options = template.get("options", {})
    if "run" in options:
        with open(path("console", instance["id"]), "ab") as console:
            subprocess.Popen(shlex.split(options["run"]), env=env, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True)
    else:
        call(qemu(instance, template, options), env=env)
    wait(instance, lambda: instance["id"] in processes(), "its process does not come up")


def qemu(instance, template, options):
    forward = "".join(f',hostfwd=tcp:{instance["address"]}:{p}-:{p}' for p in options.get("ports", "80").split(","))
    command = ["qemu-system-x86_64", "-name", instance["name"], "-uuid", instance["id"], "-machine", "q35,accel=" + options.get("accel", "kvm:tcg"),
               "-m", str(template["memory_bytes"] >> 20), "-smp", str(template["cpus"]), "-display", "none", "-nic", "user,model=virtio-net-pci" + forward,
               "-chardev", f'file,id=console,append=on,path={path("console", instance["id"])}', "-serial", "chardev:console", "-daemonize"]
    for key, flag in ("kernel", "-kernel"), ("initrd", "-initrd"), ("cmdline", "-append"):
        if template.get(key):
            command += [flag, template[key].replace("{name}", instance["name"])]
    if template.get("image"):
        command += ["-drive", f'file={path("disks", instance["id"] + ".root.qcow2")},if=virtio,format=qcow2']
    for disk in sized(instance):
        command += ["-drive", f"file={disk_file(instance, disk)},if=virtio,format=raw"]
    return command


def cut(instance):
    instance["stopped_by"] = "external"
    write(instance)
    for pid, _ in processes().get(instance["id"], []):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    wait(instance, lambda: instance["id"] not in processes(), "its process does not end")


def wait(instance, holds, otherwise):
    deadline = time.monotonic() + 10
    while not holds():
        if time.monotonic() > deadline:
            raise Trouble("unknown outcome", otherwise)
        time.sleep(0.02)


def free_address():
    taken = {i["address"] for i in everything()}
    return next(a for n in range(1, 65000) if (a := f"127.77.{n // 250}.{n % 250 + 1}") not in taken)


def remove(instance, disks):
    """Takes away what belongs to an instance, its name last, so that a kill in between leaves something that is deleted again."""
    for name in disks + [path("disks", instance["id"] + ".root.qcow2"), path("disks", instance["id"] + ".root.qcow2.new"), path("console", instance["id"])]:
        if os.path.exists(name):
            os.remove(name)
    os.remove(path("instances", instance["id"] + ".json"))


# --- the calls -------------------------------------------------------------------------------------------------------------


def find(request):
    return read(request["instance"]["id"])


def mine(request):
    """Returns the instance if it bears the mark that hale names, or none where hale adopted it. Every call that takes something away asks."""
    instance, ref = find(request), request["instance"]
    has, wants = bears(instance), ref["mark"]
    if ref["adopted"]:
        if has or wants:
            raise Trouble("conflict", "it bears a mark")
    elif not has or not wants or any(has[k] != wants[k] for k in ("installation", "machine", "generation")):
        raise Trouble("conflict", "it bears another mark")
    return instance


def mine_off(request):
    instance = mine(request)
    if power(instance) != "off":
        raise Trouble("conflict", "it is " + power(instance))
    return instance


def list_all(_):
    running = processes()
    return {"instances": [report(i, running) for i in everything()]}


def create(request):
    ident, name, template = request["instance"]["id"], request["name"], request["template"]
    for other in everything():
        if ident == other["id"] or name == other["name"]:
            raise Trouble("conflict", f'{other["name"]} is there: {other["id"]}')
    instance = {"id": ident, "name": name, "address": free_address(), "mark": request["instance"]["mark"], "template": template, "stopped_by": ""}
    made = []
    for disk in sized(instance):
        file = disk_file(instance, disk)
        if os.path.exists(file):
            continue
        if disk["name"] in request.get("made", []):
            raise Trouble("invalid", f'disk {disk["name"]} is missing')
        made.append((file, disk["size_bytes"]))
    write(instance)  # from here on hale finds it, whatever happens
    try:
        for file, size in made:
            with open(file, "wb") as f:
                f.truncate(size)
        make_root(instance)
        boot(instance)
    except Trouble as trouble:
        if trouble.kind == "permanent":
            remove(instance, [file for file, _ in made if os.path.exists(file)])
        raise
    return {}


def start(request):
    instance = find(request)
    if request["instance"]["adopted"]:
        instance = mine(request)
    if bears(instance) and bears(instance)["kept"]:
        raise Trouble("conflict", "it was put aside")
    if power(instance) == "paused":
        return resume(request)
    boot(instance)
    return {}


def resume(request):
    instance = find(request)
    if power(instance) not in ("running", "paused"):
        raise Trouble("conflict", "it is off")
    for pid, _ in processes()[instance["id"]]:
        os.kill(pid, signal.SIGCONT)
    return {}


def reboot(request):
    instance = mine(request)
    cut(instance)
    boot(instance)
    return {}


def delete(request):
    try:
        instance = mine_off(request)
    except Trouble as trouble:
        if trouble.kind == "not found":
            return {}
        raise
    remove(instance, [disk_file(instance, d) for d in sized(instance) if d["ephemeral"]])
    return {}


def certify(request):
    instance = find(request)
    if not bears(instance):
        raise Trouble("conflict", "it bears no mark")
    instance = mine({"instance": {**request["instance"], "adopted": False}})
    instance["mark"].update(certified=True, instance=instance["id"])
    write(instance)
    return {}


def rebuild(request):
    instance = mine_off(request)
    if bears(instance) and bears(instance)["kept"]:
        raise Trouble("conflict", "it was put aside")
    instance["template"] = request["template"]
    make_root(instance)
    boot(instance)
    return {}


def adjust(request):
    instance, wants = mine(request), request["template"]
    has = instance["template"]
    size = {k: wants.get(k) or has[k] for k in ("memory_bytes", "cpus")}
    if bears(instance) and bears(instance)["kept"]:
        raise Trouble("conflict", "it was put aside")
    if any(size[k] != has[k] for k in size) and power(instance) != "off":
        raise Trouble("conflict", "its size changes while it is off, and it is " + power(instance))
    has.update(size, metadata={**has.get("metadata", {}), **wants.get("metadata", {})})
    write(instance)
    return {}


def keep(request):
    instance = mine_off(request)
    instance["name"], instance["mark"]["kept"] = f'{request["name"]}.kept.{instance["id"][:8]}', True
    write(instance)
    return {}


def restore(request):
    instance = mine_off(request)
    if any(i["name"] == request["name"] and i["id"] != instance["id"] for i in everything()):
        raise Trouble("conflict", "the name is taken")
    instance["name"], instance["mark"]["kept"] = request["name"], False
    write(instance)
    return {}


def console(request):
    import base64
    find(request)
    try:
        with open(path("console", request["instance"]["id"]), "rb") as f:
            return {"base64": base64.b64encode(f.read()[-request["limit"]:]).decode()}
    except FileNotFoundError:
        return {"text": ""}


def start_file(request):
    installation, name = request["start"]["installation"], request["start"].get("name", "")
    if "/" in installation + name:
        raise Trouble("invalid", "no start of hale")
    return path("starts", f"{installation}.{name}")


def starts(request):
    front = os.path.basename(start_file(request))
    return {"starts": {"": [n[len(front):] for n in os.listdir(path("starts")) if n.startswith(front)]}}


def note_start(request):
    with open(start_file(request), "w") as f:
        os.fsync(f.fileno())
    return {}


def forget_start(request):
    if os.path.exists(start_file(request)):
        os.remove(start_file(request))
    return {}


def identity(_):
    import uuid
    file = path("identity")
    if not os.path.exists(file):
        with open(f"{file}.{os.getpid()}", "w") as f:
            f.write(str(uuid.uuid4()))
        try:
            os.link(f.name, file)  # the first one wins
        except FileExistsError:
            pass
        os.remove(f.name)
    with open(file) as f:
        return {"identities": {"": f.read()}}


def watch(_):
    """Tells of changes until hale is gone, which closes the standard input."""
    before = {i["id"]: i for i in list_all(None)["instances"]}
    print("{}", flush=True)  # it listens: look at everything. What changes from now on differs from before
    while not hale_is_gone():
        now = {i["id"]: i for i in list_all(None)["instances"]}
        for ident in before.keys() | now.keys():
            if before.get(ident) != now.get(ident):
                print(json.dumps({"instance": ident}), flush=True)
        before = now
    sys.exit(0)


def hale_is_gone():
    import select
    return select.select([sys.stdin], [], [], 0.25)[0] and not sys.stdin.buffer.read1(1)


READS = {
    "describe": lambda _: {"contract": 1, "name": "plain-qemu", "abilities": ABILITIES},
    "identity": identity, "list": list_all, "console": console, "watch": watch, "starts": starts,
    "get": lambda request: {"instance": report(find(request), processes())},
}
CHANGES = {
    "create": create, "start": start, "reboot": reboot, "power-off": lambda request: cut(mine(request)) or {}, "delete": delete,
    "certify": certify, "resume": resume, "rebuild": rebuild, "adjust": adjust, "keep": keep, "restore": restore,
    "note-start": note_start, "forget-start": forget_start,
}


def main():
    request = json.loads(sys.stdin.buffer.readline())
    for folder in "instances", "disks", "kept", "console", "starts":
        os.makedirs(path(folder), exist_ok=True)
    try:
        if request["operation"] in READS:
            answer = {"result": READS[request["operation"]](request)}
        elif request["operation"] in CHANGES:
            with open(path("lock"), "w") as lock:  # one change at a time
                fcntl.flock(lock, fcntl.LOCK_EX)
                answer = {"result": CHANGES[request["operation"]](request)}
        else:
            raise Trouble("unsupported")
    except Trouble as trouble:
        answer = {"error": {"kind": trouble.kind, "message": str(trouble)}}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

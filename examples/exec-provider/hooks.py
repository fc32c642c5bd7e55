#!/usr/bin/env -S python3 -S
"""Trouble for the examination of plain_qemu.py: hale provider test --hooks ./hooks.py ./plain_qemu.py"""
import os, signal, sys, time, uuid

import plain_qemu as it


def signalled(ident, number):
    for pid, _ in it.processes()[ident]:
        os.kill(pid, number)


def kill(ident):
    signalled(ident, signal.SIGKILL)


def pause(ident):
    signalled(ident, signal.SIGSTOP)


def stranger(name, host):
    """Makes an instance as somebody would who knows nothing of hale."""
    template = {"memory_bytes": 96 << 20, "cpus": 1, "disks": [], "options": {"run": "sleep 1000000"}}
    instance = {"id": str(uuid.uuid4()), "name": name, "address": it.free_address(), "mark": None, "template": template, "stopped_by": ""}
    it.write(instance)
    it.boot(instance)
    print(instance["id"])


def copy(ident, name):
    """Copies what an instance is, mark included, as somebody would who needs another one like it. It is off."""
    instance = {**it.read(ident), "id": str(uuid.uuid4()), "name": name, "address": it.free_address(), "stopped_by": "external"}
    it.write(instance)
    print(instance["id"])


def forget(ident):
    instance = it.read(ident)
    it.cut(instance)
    it.remove(instance, [])


def printed(ident):
    """Waits until the machine has written to its console, and prints the first line of it."""
    for _ in range(1200):
        with open(it.path("console", ident)) as f:
            line = f.readline()
        if line.endswith("\n"):
            return print(line)
        time.sleep(0.05)
    sys.exit("it writes nothing")


WORDS = {f.__name__: f for f in (kill, pause, stranger, copy, forget, printed)}

if __name__ == "__main__":
    if sys.argv[1] == "words":
        print(*WORDS)
    else:
        WORDS[sys.argv[1]](*sys.argv[2:])

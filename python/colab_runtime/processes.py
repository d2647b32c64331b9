"""Ending everything that descends from this process."""

import os
import signal
import subprocess
import sys
import time

LIMIT_SECONDS = 10


def end_descendants():
    """
    SIGKILL for all descendants until none is left, or one has not died within LIMIT_SECONDS.

    On Linux the caller is a subreaper, so "no child left" means that nothing got away. On macOS a process
    that left its parent as well as its process group cannot be found again.
    """
    end = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < end:
        end_all(descendants(os.getpid()))
        if not _reap():
            return
        time.sleep(0.005)


def _reap():
    """Collects ended children; False when there is no child at all."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def end_all(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def descendants(ancestor):
    """The ids of all processes below this one, and of those in their process groups."""
    own_group = os.getpgid(0)
    found = {ancestor}
    groups = set()
    rows = list(_linux_processes() if sys.platform == "linux" else _listed_processes())
    grown = True
    while grown:
        grown = False
        for pid, parent, group in rows:
            if pid not in found and (parent in found or group in groups):
                found.add(pid)
                if group != own_group:
                    groups.add(group)
                grown = True
    return found - {ancestor}


def _linux_processes():
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The name of the program, in brackets, may itself hold spaces and brackets.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        yield int(name), int(fields[1]), int(fields[2])


def _listed_processes():
    listing = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,pgid="], capture_output=True, text=True, check=False
    )
    for line in listing.stdout.splitlines():
        pid, parent, group = map(int, line.split())
        yield pid, parent, group

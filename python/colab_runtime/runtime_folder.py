"""A runtime's own temporary folder, held by a lock that ends with its holder."""

import fcntl
import os
import stat
import subprocess
import tempfile
import time

PREFIX = "colab-solver-"
# Only folders with a file of this name are ours, and empty ones: others may be called like them.
LOCK = "runtime.lock"
# Kernel sockets lie in the folder; a socket's path may have 103 bytes on macOS, 107 on Linux.
LONGEST_BASE = 24
# Its maker may be about to lock it.
YOUNG_SECONDS = 5


def make():
    """A new folder, private to this user, and the descriptor whose lock says that it is in use."""
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) > LONGEST_BASE:
        base = "/tmp"
    _sweep(base)
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=base)
    lock = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return os.path.realpath(folder), lock


def remove(folder):
    """Whatever scripts left there: `rm` knows no depth at which it gives up, as Python's own removal does."""
    if _run("rm", "-rf", "--", folder):
        return
    # A script may have taken its own rights away.
    _run("chmod", "-R", "u+rwX", "--", folder)
    _run("rm", "-rf", "--", folder)


def _run(*argv):
    """True where it did all it should."""
    environment = {"PATH": f"{os.environ.get('PATH', '')}:/usr/bin:/bin"}
    process = subprocess.run(
        argv, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return process.returncode == 0


def _sweep(base):
    """Removes folders of ours whose holder was killed before it could."""
    for entry in os.scandir(base):
        try:
            if entry.name.startswith(PREFIX) and _is_abandoned(entry):
                remove(entry.path)
        except OSError:
            continue


def _is_abandoned(entry):
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return False
    if time.time() - status.st_mtime < YOUNG_SECONDS:
        return False
    try:
        lock = os.open(os.path.join(entry.path, LOCK), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return not os.listdir(entry.path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(lock)

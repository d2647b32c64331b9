"""
Makes a virtual environment from a pinned requirements file.

    make_environment.py <folder> <requirements file> [path of uv]

An environment cannot be moved once it is made, so it grows in its place; the file `complete`, written last, makes it
count. A lock that ends with its holders keeps two from building at once. Closing standard input gives up.

Writes lines of JSON: {"event": "progress", "text": …}, then {"event": "done"} or
{"event": "failed", "why": "disk-full" or "not-writable" or "step-failed", "text": …}.
"""

import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from colab_runtime import confinement  # noqa: E402

MARKER = "complete"
LOCK_POLL_SECONDS = 0.2
TAIL_CHARACTERS = 2000
LEAST_ROOM_BYTES = 1024 * 1024
# Tests come with most packages; nothing imports them.
NOT_COMPILED = r"/tests?/"
# Matplotlib takes seconds for it where there are many, and would do it once in every runtime.
LIST_FONTS = """
import importlib.util, os, sys
os.environ["MPLCONFIGDIR"] = sys.argv[1]
if importlib.util.find_spec("matplotlib"):
    import matplotlib.font_manager
"""


class Failed(Exception):
    """A step went wrong; the text is the end of what it said."""


class Cancelled(Exception):
    """Nobody wants the environment any more."""


class Builder:
    def __init__(self, folder, requirements, uv):
        self.folder = folder
        self.requirements = requirements
        self.uv = uv
        self.lock = os.open(f"{folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.is_cancelled = False
        self.step = None

    def build(self):
        self.wait_for_lock()
        if self.is_complete():
            return
        try:
            self.remove()
            send("progress", text="Making the Python environment (first run only, about a minute) …")
            self.fill()
            self.run("Compiling", self.python, "-m", "compileall", "-q", "-j", "0", "-x", NOT_COMPILED, self.folder)
            self.run("Listing fonts", self.python, "-c", LIST_FONTS, os.path.join(self.folder, "matplotlib"))
            self.mark_complete()
        except BaseException:
            self.remove()
            raise

    def is_complete(self):
        # The interpreter is a link to the one it was made with, which may be gone.
        return os.path.exists(os.path.join(self.folder, MARKER)) and os.access(self.python, os.X_OK)

    @property
    def python(self):
        return os.path.join(self.folder, "bin", "python")

    def fill(self):
        if self.uv:
            try:
                return self.fill_with_uv()
            except Failed as failure:
                if is_disk_full(str(failure)):
                    raise
                send("progress", text="uv could not do it; trying pip …")
                self.remove()
        return self.fill_with_pip()

    def fill_with_uv(self):
        self.run("Making it", self.uv, "venv", "--quiet", "--seed", "--python", sys.executable, self.folder)
        self.run(
            "Installing packages with uv", self.uv, "pip", "install", "--quiet", "--python", self.python,
            "--only-binary", ":all:", "--no-deps", "--require-hashes", "-r", self.requirements,
        )  # fmt: skip

    def fill_with_pip(self):
        self.run("Making it", sys.executable, "-m", "venv", self.folder)
        self.run(
            "Installing packages with pip", self.python, "-m", "pip", "install", "--quiet", "--no-input",
            "--disable-pip-version-check", "--no-compile", "--only-binary", ":all:", "--no-deps",
            "--require-hashes", "-r", self.requirements,
        )  # fmt: skip

    def run(self, what, *argv):
        """One step in a process group of its own; it shares the lock, so that it is never outlived by it."""
        send("progress", text=f"  {what} …")
        builder = os.getpid()
        self.step = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            pass_fds=[self.lock],
            preexec_fn=lambda: confinement.die_with_parent(builder),
        )
        if self.is_cancelled:
            self.cancel()
        output, _ = self.step.communicate()
        status = self.step.returncode
        if self.is_cancelled:
            raise Cancelled
        if status != 0:
            text = f"{what} failed with status {status}:\n{output.strip()[-TAIL_CHARACTERS:]}"
            raise Failed(text if has_room(self.folder) else f"{text}\n{os.strerror(errno.ENOSPC)}")

    def cancel(self):
        self.is_cancelled = True
        if self.step and self.step.poll() is None:
            os.killpg(self.step.pid, signal.SIGKILL)

    def wait_for_lock(self):
        has_said = False
        while not self.is_cancelled:
            try:
                return fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not has_said:
                    send("progress", text="Another process is making the Python environment; waiting for it …")
                has_said = True
                time.sleep(LOCK_POLL_SECONDS)
        raise Cancelled

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def mark_complete(self):
        path = os.path.join(self.folder, MARKER)
        with open(f"{path}.new", "w") as file:
            file.write(sys.version)
            file.flush()
            os.fsync(file.fileno())
        os.rename(f"{path}.new", path)


def send(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def has_room(folder):
    """Asked before what a step made is removed; the step itself may not say why it failed."""
    disk = os.statvfs(os.path.dirname(folder))
    return disk.f_bavail * disk.f_frsize >= LEAST_ROOM_BYTES


def is_disk_full(text):
    return any(os.strerror(number) in text for number in (errno.ENOSPC, errno.EDQUOT))


def reason_of(failure):
    if is_disk_full(str(failure)):
        return "disk-full"
    return "step-failed" if isinstance(failure, Failed) else "not-writable"


def cancel_at_end_of_input(builder):
    while os.read(0, 4096):
        pass
    builder.cancel()


def main():
    folder, requirements, uv = [*sys.argv[1:], None][:3]
    try:
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        builder = Builder(folder, requirements, uv)
        threading.Thread(target=cancel_at_end_of_input, args=[builder], daemon=True).start()
        builder.build()
        send("done")
    except (Failed, OSError) as failure:
        send("failed", why=reason_of(failure), text=str(failure))
        sys.exit(1)
    except Cancelled:
        sys.exit(1)


main()

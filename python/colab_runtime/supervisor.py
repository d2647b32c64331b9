"""
Runs one command in a temporary folder of its own, and leaves no process and no folder behind.

    supervisor.py

Lines of JSON. It first writes {"event": "folder", "path": …, "pythonPaths": […]}, the latter being what this
interpreter needs to run; then it reads the command, {"argv": [], "env": {}, "cwd": "…", "input": "…"}, whose
standard input gets `input`. The command shares our output. The end comes when the command ends or when standard
input does, be it because the parent was killed.

Two processes watch each other, so that killing either of them still cleans up: the keeper runs the command,
the guard waits for the keeper. On Linux both inherit all orphans below them.
"""

import json
import os
import select
import signal
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from colab_runtime import confinement, processes, runtime_folder  # noqa: E402


def main():
    confinement.become_subreaper()
    folder, _lock = runtime_folder.make()
    guard_ended, guard_lives = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        os.close(guard_lives)
        confinement.become_subreaper()
        status = 1
        try:
            status = keep(folder, guard_ended)
        except Exception:
            traceback.print_exc()
        finally:
            clean_up(folder)
            os._exit(status)
    os.close(guard_ended)
    _, status = os.waitpid(keeper, 0)
    clean_up(folder)
    sys.exit(os.waitstatus_to_exitcode(status) % 256)


def clean_up(folder):
    processes.end_descendants()
    runtime_folder.remove(folder)


def keep(folder, guard_ended):
    """Runs the command until it ends or nobody wants it any more."""
    child_ended = watch_children()
    send("folder", path=folder, pythonPaths=python_paths())
    line = sys.stdin.readline()
    if not line:
        return 0
    command = json.loads(line)
    child = start(command)
    watched = select.poll()
    for descriptor in (0, guard_ended, child_ended):
        watched.register(descriptor, select.POLLIN)
    while True:
        for descriptor, _ in watched.poll():
            if descriptor != child_ended or os.read(descriptor, 4096) == b"":
                return 0
        status = reap(child.pid)
        if status is not None:
            send("exited", status=status)
            return 0


def send(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def python_paths():
    """Folders and files that the interpreter lives on, each link on the way to its program included."""
    paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    program = sys.executable
    while os.path.islink(program):
        program = os.path.join(os.path.dirname(program), os.readlink(program))
        paths.append(os.path.normpath(program))
    paths = {*paths, *map(os.path.realpath, paths)}
    return sorted(path for path in paths if not any(path.startswith(f"{other}/") for other in paths))


def watch_children():
    """A descriptor that becomes readable whenever a child has ended."""
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    return ended


def start(command):
    keeper = os.getpid()
    child = subprocess.Popen(
        command["argv"],
        env=command["env"],
        cwd=command["cwd"],
        stdin=subprocess.PIPE,
        preexec_fn=lambda: confinement.die_with_parent(keeper),
    )
    try:
        child.stdin.write(command["input"].encode())
        child.stdin.close()
    except BrokenPipeError:
        pass
    return child


def reap(wanted):
    """Collects ended children, orphans of others among them; the wanted one's exit code once it has ended."""
    status = None
    while True:
        try:
            pid, wait_status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == wanted:
            status = os.waitstatus_to_exitcode(wait_status)


main()

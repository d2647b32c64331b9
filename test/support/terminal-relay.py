"""Runs a command on a terminal of its own. Lines of JSON on standard input say what is done to it:
{"write": text}, {"resize": [columns, rows]} or {"signal": number}; what it writes comes on standard output.

As a "job" the command has a shell above it, which says "[suspended]" when it stops and takes it up again after any line.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios


def run_job(command):
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    while True:
        status = os.waitpid(job, os.WUNTRACED)[1]
        if not os.WIFSTOPPED(status):
            os._exit(os.waitstatus_to_exitcode(status) % 256)
        os.tcsetpgrp(0, os.getpid())
        os.write(1, b"[suspended]\n")
        os.read(0, 1024)
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)


columns, rows = int(sys.argv[1]), int(sys.argv[2])
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    if sys.argv[3] == "job":
        run_job(sys.argv[4:])
    os.execvp(sys.argv[4], sys.argv[4:])

waiting = b""
unwritten = b""
while True:
    ready, writable, _ = select.select([terminal, 0], [terminal] if unwritten else [], [])
    if terminal in writable:
        unwritten = unwritten[os.write(terminal, unwritten[:512]) :]
    if terminal in ready:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        os.write(1, data)
    if 0 in ready:
        data = os.read(0, 65536)
        if not data:
            os.kill(os.tcgetpgrp(terminal), signal.SIGKILL)
            os.kill(pid, signal.SIGKILL)
            break
        waiting += data
        *lines, waiting = waiting.split(b"\n")
        for line in lines:
            order = json.loads(line)
            if "write" in order:
                unwritten += order["write"].encode()
            elif "resize" in order:
                size = struct.pack("HHHH", order["resize"][1], order["resize"][0], 0, 0)
                fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
            else:
                os.kill(os.tcgetpgrp(terminal), order["signal"])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)

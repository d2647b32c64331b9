"""sys.stdout and sys.stderr of a kernel."""

import codecs
import fcntl
import os
import select
import struct
import termios
import threading

from ipykernel.iostream import OutStream

PIECE_CHARACTERS = 64 * 1024
MOST_WAITING_CHARACTERS = 1024 * 1024
PIECES_AHEAD = 64


def send_at_once(thread):
    """
    Lets ipykernel's sending thread send what it has just made. By itself it queues that behind other work: a flush
    then ends before its output has left, and a thread that has to wait for itself to empty the queue never wakes.
    """
    queue = thread.send_multipart

    def send_multipart(*arguments, **options):
        if threading.current_thread() is thread.thread:
            thread._really_send(*arguments, **options)
        else:
            queue(*arguments, **options)

    thread.send_multipart = send_multipart


class BoundedOutStream(OutStream):
    """
    ipykernel's stream, with three differences: a script that prints faster than its output can leave is held
    up, large texts leave in pieces, and what child processes wrote keeps its place among what Python wrote.
    """

    # A script held up by a slow reader must not be told about it.
    flush_timeout = 24 * 3600
    flush_interval = 0.1

    def __init__(self, *arguments, **options):
        self._waiting_characters = 0
        self._drain_lock = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        super().__init__(*arguments, **options)

    def fileno(self):
        """Ours is the watched one, so that `subprocess.run(…, stdout=sys.stdout)` shows its output."""
        if self._fid is None:
            return super().fileno()
        return self._original_stdstream_fd

    def write(self, string):
        if not self._is_master_process():
            return super().write(string)
        self._drain()
        count = super().write(string)
        self._waiting_characters += len(string)
        if self._waiting_characters > MOST_WAITING_CHARACTERS:
            super().flush()
        return count

    def flush(self):
        if self._is_master_process():
            self._drain()
        super().flush()

    def _flush_buffers(self):
        self._waiting_characters = 0
        for parent, text in super()._flush_buffers():
            for start in range(0, len(text), PIECE_CHARACTERS):
                yield parent, text[start : start + PIECE_CHARACTERS]

    def _watch_pipe_fd(self):
        while self._should_watch:
            select.select([self._fid], [], [])
            self._drain()

    def _drain(self):
        """Takes over what is in the pipe now, where child processes and C code write."""
        if self._fid is None:
            return
        with self._drain_lock:
            waiting = struct.unpack("i", fcntl.ioctl(self._fid, termios.FIONREAD, bytes(4)))[0]
            if waiting:
                super().write(self._decoder.decode(os.read(self._fid, waiting)))

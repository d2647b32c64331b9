"""
Starts Jupyter Server for one runtime.

Reads one line of JSON, {"token", "socketPath", "rootFolder", "runFolder"}, from standard input, so that the token is
neither in argv nor in the environment. Writes lines of JSON to standard output:
{"event": "ready", "pythonVersion": …, "isHidden": …}.
"""

import json
import os
import shutil
import signal
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HERE)
from colab_runtime import confinement, processes  # noqa: E402

is_hidden = confinement.hide_outside_processes()
# Building its grammar takes a second, for a format check of JSON schemas that is skipped without it.
sys.modules["rfc3987_syntax"] = None

import zmq  # noqa: E402
from jupyter_client.ioloop.restarter import AsyncIOLoopKernelRestarter  # noqa: E402
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager  # noqa: E402
from jupyter_server.serverapp import ServerApp  # noqa: E402
from jupyter_server.services.kernels.connection.channels import (  # noqa: E402
    ZMQChannelsWebsocketConnection,
    serialize_msg_to_ws_v1,
)
from jupyter_server.services.kernels.kernelmanager import ServerKernelManager  # noqa: E402
from traitlets.config import Config  # noqa: E402

MOST_UNSENT_BYTES = 4 * 1024 * 1024
MESSAGES_AHEAD = 64
KERNEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel.py")


class Events:
    """Our standard output, out of the kernels' reach: they get /dev/null in its place."""

    def __init__(self):
        self._file = os.fdopen(os.dup(1), "w")
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.close(nothing)

    def send(self, event, **fields):
        print(json.dumps({"event": event, **fields}), file=self._file, flush=True)


class OneKernelSpec(KernelSpecManager):
    def find_kernel_specs(self):
        return {"python3": os.path.dirname(KERNEL)}

    def get_kernel_spec(self, kernel_name):
        argv = [sys.executable, "-I", KERNEL, "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


class WholeKernelManager(ServerKernelManager):
    """Ends with a kernel what its scripts have started, also what they have cut loose."""

    async def shutdown_kernel(self, now=False, restart=False):
        kernel = getattr(self.provisioner, "pid", None)
        started = processes.descendants(kernel) if kernel else ()
        await super().shutdown_kernel(now=now, restart=restart)
        processes.end_all(started)


class DeathWatch(AsyncIOLoopKernelRestarter):
    """Restarts nothing: a dead kernel has lost its variables, and whoever uses it must know."""

    def _fire_callbacks(self, event):
        if event == "dead":
            process = getattr(self.kernel_manager.provisioner, "process", None)
            self.kernel_manager.reason = how_it_ended(getattr(process, "returncode", None))
        super()._fire_callbacks(event)


def how_it_ended(status):
    if status is None:
        return "its process is gone"
    if status >= 0:
        return f"its process ended with exit code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "unknown"
    hint = ", perhaps for lack of memory" if -status == signal.SIGKILL else ""
    return f"its process was killed by signal {-status} ({name}){hint}"


class PacedConnection(ZMQChannelsWebsocketConnection):
    """Reads no more output from a kernel while its client has not taken what came before; memory stays bounded."""

    _unsent_bytes = 0
    _is_paused = False

    @property
    def write_message(self):
        return self._write

    def _write(self, message, binary=False):
        sent = self.websocket_handler.write_message(message, binary=binary)
        self._unsent_bytes += len(message)
        sent.add_done_callback(lambda future: self._after_sending(len(message), future.exception()))
        if self._unsent_bytes > MOST_UNSENT_BYTES and not self._is_paused:
            self._is_paused = True
            self.channels["iopub"].stop_on_recv()
        return sent

    def handle_outgoing_message(self, stream, outgoing_msg):
        super().handle_outgoing_message(stream, outgoing_msg)
        # The first frame is iopub's topic; a state comes without buffers, so its content is the last.
        if outgoing_msg[0].endswith(b".status"):
            self._note(self.session.unpack(outgoing_msg[-1])["execution_state"])

    def _note(self, state):
        """Once its state goes through here, Jupyter need not listen to the kernel a second time to know it."""
        self.kernel_manager.execution_state = state
        self.multi_kernel_manager.stop_watching_activity(self.kernel_id)

    def _after_sending(self, size, error):
        self._unsent_bytes -= size
        if self._is_paused and error is None and self._unsent_bytes <= MOST_UNSENT_BYTES // 2:
            self._is_paused = False
            self.channels["iopub"].on_recv_stream(self.handle_outgoing_message)

    def disconnect(self):
        self._is_paused = False
        super().disconnect()

    def on_restart_failed(self):
        """Jupyter's notice that the kernel is dead, with the reason added."""
        iopub = self.channels.get("iopub")
        if iopub is None or iopub.closed():
            return
        iopub.on_recv_stream(self.handle_outgoing_message)
        iopub.flush()
        content = {"execution_state": "dead", "reason": self.kernel_manager.reason}
        notice = self.session.msg("status", content)
        self.write_message(serialize_msg_to_ws_v1(notice, "iopub", self.session.pack), binary=True)


class Server(ServerApp):
    default_services = ("api", "contents", "files", "kernels", "kernelspecs", "sessions")
    no_browser_open_file = True

    def load_config_file(self, suppress_errors=True):
        """This machine's Jupyter settings are not ours."""

    def write_server_info_file(self):
        """Nobody looks for us, and the file would hold the token."""

    async def _post_start(self):
        await super()._post_start()
        version = ".".join(map(str, sys.version_info[:3]))
        events.send("ready", pythonVersion=version, isHidden=is_hidden)


def configure(options):
    config = Config()
    config.ServerApp.sock = options["socketPath"]
    config.ServerApp.sock_mode = "0600"
    config.ServerApp.root_dir = options["rootFolder"]
    config.ServerApp.allow_root = True
    config.ServerApp.ip = "127.0.0.1"
    # A client held up by slow output does not answer pings.
    config.ServerApp.tornado_settings = {"ws_ping_interval": 0, "ws_ping_timeout": 0}
    config.ServerApp.open_browser = False
    config.ServerApp.log_level = "WARN"
    config.ServerApp.kernel_spec_manager_class = OneKernelSpec
    config.ServerApp.kernel_websocket_connection_class = PacedConnection
    config.IdentityProvider.token = options["token"]
    # Left alone, Jupyter writes it into a file, and whoever knows it can sign itself in.
    config.ServerApp.cookie_secret = os.urandom(32)
    config.ContentsManager.allow_hidden = True
    config.FileContentsManager.delete_to_trash = False
    # Unix sockets throughout: no port, and no Nagle's algorithm, which over TCP holds back small messages.
    config.KernelManager.transport = "ipc"
    config.AsyncMappingKernelManager.kernel_manager_class = f"{__name__}.{WholeKernelManager.__name__}"
    config.AsyncIOLoopKernelManager.restarter_class = DeathWatch
    config.KernelRestarter.restart_limit = 0
    config.KernelRestarter.time_to_dead = 0.25
    config.PacedConnection.limit_rate = False
    return config


def share_font_list():
    """Matplotlib looks through all fonts of the machine unless it finds a list of them."""
    made = os.path.join(sys.prefix, "matplotlib")
    if os.path.isdir(made):
        shutil.copytree(made, os.environ["MPLCONFIGDIR"], dirs_exist_ok=True)


def main():
    options = json.loads(sys.stdin.readline())
    global events
    events = Events()
    share_font_list()
    server = Server.instance(config=configure(options), runtime_dir=options["runFolder"])
    server.initialize(argv=[], find_extensions=False)
    server.kernel_manager.context.setsockopt(zmq.RCVHWM, MESSAGES_AHEAD)
    server.start()


main()

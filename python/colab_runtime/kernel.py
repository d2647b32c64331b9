"""Starts one kernel: ipykernel, set up for scripts that nobody watches.  kernel.py -f <connection file>"""

import asyncio
import contextlib
import os
import signal
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HERE)
# Nothing is written where we are installed; what scripts import may be.
sys.dont_write_bytecode = True
from colab_runtime import confinement  # noqa: E402

confinement.die_with_parent(int(os.environ["JPY_PARENT_PID"]))
# Its own domain within the server's: a script can neither trace nor signal the server or another kernel.
confinement.hide_outside_processes()
confinement.be_first_to_go()
# What scripts cut loose stays below this kernel, and ends with it.
confinement.become_subreaper()

import zmq  # noqa: E402
from ipykernel.displayhook import ZMQShellDisplayHook  # noqa: E402
from ipykernel.ipkernel import IPythonKernel  # noqa: E402
from ipykernel.kernelapp import IPKernelApp  # noqa: E402
from ipykernel.zmqshell import ZMQInteractiveShell  # noqa: E402
from IPython.core.error import StdinNotImplementedError  # noqa: E402

from colab_runtime import messages, output_stream  # noqa: E402, F401

sys.path.remove(HERE)
sys.dont_write_bytecode = False
# Where pip puts what a script installs; the environment itself is shared.
os.makedirs(os.environ["PIP_TARGET"], exist_ok=True)
sys.path.append(os.environ["PIP_TARGET"])

# Classes of `__main__` are those of scripts, which a reset takes away.
__name__ = "colab_runtime.kernel"

MOST_VALUE_CHARACTERS = 16 * 1024 * 1024
NO_INPUT = "{} is not available: nobody is there to answer. Write the value into the code, or read it from a file."


class DisplayHook(ZMQShellDisplayHook):
    def write_format_data(self, format_dict, md_dict=None):
        """Only a value's text is asked for, and far less of it than a script can make."""
        text = format_dict.get("text/plain", "")
        super().write_format_data({"text/plain": text[:MOST_VALUE_CHARACTERS]}, md_dict)


class Shell(ZMQInteractiveShell):
    displayhook_class = DisplayHook

    def _tee(self, channel):
        """IPython keeps a copy of everything printed, for a notebook that is never saved here."""
        return contextlib.nullcontext()


class Kernel(IPythonKernel):
    shell_class = Shell

    def raw_input(self, prompt=""):
        raise StdinNotImplementedError(NO_INPUT.format("input()"))

    def getpass(self, prompt="", stream=None, **_):
        raise StdinNotImplementedError(NO_INPUT.format("getpass()"))

    async def do_execute(self, *arguments, **options):
        """A script that forks comes to its end twice; there must be one kernel only."""
        kernel = os.getpid()
        reply = await super().do_execute(*arguments, **options)
        if os.getpid() != kernel:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0 if reply["status"] == "ok" else 1)
        return reply

    @contextlib.contextmanager
    def _cancel_on_sigint(self, future):
        """ipykernel cancels the script from the event loop, which sleeps on where the script awaits something."""
        loop = asyncio.get_running_loop()
        with super()._cancel_on_sigint(future):
            cancel = signal.getsignal(signal.SIGINT)

            def cancel_and_wake(*arguments):
                cancel(*arguments)
                loop.call_soon_threadsafe(lambda: None)

            signal.signal(signal.SIGINT, cancel_and_wake)
            yield


class KernelApp(IPKernelApp):
    kernel_class = Kernel
    outstream_class = "colab_runtime.output_stream.BoundedOutStream"

    def _bind_socket(self, socket, port):
        if socket.type in (zmq.PUB, zmq.XPUB):
            # Wait for a reader that lags, where ZeroMQ would drop messages, and soon.
            socket.setsockopt(zmq.XPUB_NODROP, 1)
            socket.sndhwm = output_stream.PIECES_AHEAD
        return super()._bind_socket(socket, port)

    def init_iopub(self, context):
        super().init_iopub(context)
        output_stream.send_at_once(self.iopub_thread)


def find_modules_beside_scripts():
    """As any notebook does, after the standard library; IPython leaves it out in an isolated interpreter."""
    if "" in sys.path:
        return
    packages = [place for place, path in enumerate(sys.path) if os.path.basename(path) == "site-packages"]
    sys.path.insert(packages[0] if packages else len(sys.path), "")


def main():
    app = KernelApp.instance()
    app.config.InteractiveShell.colors = "NoColor"
    app.config.HistoryManager.hist_file = ":memory:"
    app.config.Session.packer = "colab_runtime.messages.pack"
    # Loading the debugger takes a third of the start.
    sys.modules["debugpy"] = None
    app.initialize()
    sys.modules.pop("debugpy", None)
    find_modules_beside_scripts()
    # It opens this kernel to the scripts of others that share the disk.
    os.unlink(app.abs_connection_file)
    # ipykernel asks programs for colours; nothing here shows them.
    for name in ("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"):
        os.environ.pop(name, None)
    os.environ.update(NO_COLOR="1", TERM="dumb")
    app.start()


main()

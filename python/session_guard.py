"""Put into a kernel when its session is opened; needs `token`, which tells this kernel from a later one.

Refuses a cell that the kernel has just run when another request brings it again. A client that lost the answer repeats
its request to re-attach; where the server takes the repetition for a new one, the script must not run twice. The client
never sends the same text twice in a row for two scripts.

Every script comes under a line that asks for the token. The guard takes that line off, so that the script is what it was.
An empty kernel put in this one's place fails on it before the script has begun.
"""

from IPython import get_ipython
from IPython.core.error import InputRejected


class SessionGuard:
    def __init__(self, shell, token):
        self.token = token
        self._heading = f"__import__('IPython').get_ipython().colab_session_guard.require('{token}')\n"
        self._shell = shell
        self._cell = None
        self._request = None
        self._is_repeated = False

    def before_cell(self, info):
        request = self._shell.get_parent().get("header", {}).get("msg_id")
        if request is not None and request == self._request:
            return  # A cell run by the script itself.
        self._is_repeated = request is not None and info.raw_cell == self._cell
        self._cell = info.raw_cell
        self._request = request

    def without_heading(self, lines):
        if self._heading not in lines:
            return lines
        at = lines.index(self._heading)
        return lines[:at] + lines[at + 1 :]

    def require(self, token):
        """Where a script has removed our hook the line runs."""
        if token != self.token:
            raise AttributeError("colab_session_guard of another session")

    def visit(self, tree):
        if self._is_repeated:
            self._is_repeated = False
            raise InputRejected("This request has run already.")
        return tree


def install(token):
    shell = get_ipython()
    guard = SessionGuard(shell, token)
    shell.colab_session_guard = guard
    shell.events.register("pre_run_cell", guard.before_cell)
    shell.ast_transformers.append(guard)
    # Before all others: what a script begins with, a magic for one, has to be its first line again.
    shell.input_transformer_manager.cleanup_transforms.insert(0, guard.without_heading)


install(token)

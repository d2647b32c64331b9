"""Put into a kernel when its session is opened; needs `token`, which tells this kernel from a later one.

Refuses a cell that the kernel has just run when another request brings it again. A client that lost the answer repeats
its request to re-attach; where the server takes the repetition for a new one, the script must not run twice. The client
never sends the same text twice in a row for two scripts.
"""

from IPython import get_ipython
from IPython.core.error import InputRejected


class SessionGuard:
    def __init__(self, shell, token):
        self.token = token
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


install(token)

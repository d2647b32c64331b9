"""Put into a kernel when its session is opened; needs `token`, which tells this kernel from a later one.

Every script comes under a line with the token and the id of its execution. The guard takes that line off, so that the
script is what it was, and refuses an execution that has begun before: a client that lost the answer repeats its request
to re-attach, and where the server takes the repetition for a new one, the script must not run twice. An empty kernel put
in this one's place fails on the line before the script has begun.
"""

import re

from IPython import get_ipython
from IPython.core.error import InputRejected


class State(str):
    """Text that a kernel gives back as it is."""

    __repr__ = str.__str__


class SessionGuard:
    def __init__(self, token):
        self.token = token
        self.execution = None
        # What the session watch said of the latest script, as JSON.
        self.report = ""
        self._begun = set()
        self._is_repeated = False
        call = f"__import__('IPython').get_ipython().colab_session_guard.require('{token}', "
        self._heading = re.compile(rf"^{re.escape(call)}'([0-9a-f-]+)'\)\n", re.MULTILINE)

    @property
    def state(self):
        return State(f"{self.token} {self.report}")

    def before_cell(self, info):
        heading = self._heading.search(info.raw_cell or "")
        self._is_repeated = heading is not None and heading[1] in self._begun
        self.execution = None if heading is None or self._is_repeated else heading[1]
        if heading is not None:
            self._begun.add(heading[1])

    def without_heading(self, lines):
        return [line for line in lines if not self._heading.fullmatch(line)]

    def visit(self, tree):
        if self._is_repeated:
            self._is_repeated = False
            raise InputRejected("This execution has begun before.")
        return tree

    def require(self, token, execution):
        """What the line does where a script has removed our hook."""
        if token != self.token:
            raise AttributeError("colab_session_guard of another session")


def install(token):
    shell = get_ipython()
    if getattr(getattr(shell, "colab_session_guard", None), "token", None) == token:
        return  # The request to install came twice.
    guard = SessionGuard(token)
    shell.colab_session_guard = guard
    shell.events.register("pre_run_cell", guard.before_cell)
    shell.ast_transformers.append(guard)
    # Before all others: what a script begins with, a magic for one, has to be its first line again.
    shell.input_transformer_manager.cleanup_transforms.insert(0, guard.without_heading)


install(token)

"""Linux process controls, through ctypes: Python's own library has none of them. Elsewhere they do nothing."""

import ctypes
import os
import signal
import struct
import sys

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

# The same numbers on every architecture but Alpha.
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446
LANDLOCK_CREATE_RULESET_VERSION = 1
LANDLOCK_RULE_PATH_BENEATH = 1
ACCESS_MAKE_BLOCK = 1 << 11
ACCESS_REFER = 1 << 13
SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0
SCOPE_SIGNAL = 1 << 1

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _prctl(option, value):
    return _libc is not None and _libc.prctl(option, value, 0, 0, 0) == 0


def become_subreaper():
    """From now on orphaned descendants become our children, double forks and new sessions included."""
    return _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent_pid):
    """SIGKILL for this process when the thread that started it ends."""
    if _prctl(PR_SET_PDEATHSIG, signal.SIGKILL) and os.getppid() != parent_pid:
        os.kill(os.getpid(), signal.SIGKILL)


def landlock_version():
    """The kernel's Landlock ABI, 0 without Landlock."""
    if _libc is None:
        return 0
    return max(0, _libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION))


def hide_outside_processes():
    """
    Puts this process and its descendants into a Landlock domain of their own, and says whether that worked.

    The files it may use stay as they are. What the domain is for is a side effect that also binds root: a
    process inside cannot trace one outside, and the kernel asks the same question before it shows
    /proc/<pid>/environ, mem or maps. From ABI 6 on it cannot signal one outside either.
    """
    version = landlock_version()
    if version == 0:
        return False
    ruleset = _scoped_ruleset() if version >= 6 else _harmless_ruleset(version)
    if ruleset < 0:
        return False
    try:
        return (
            _prctl(PR_SET_NO_NEW_PRIVS, 1) and _libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
        )
    finally:
        os.close(ruleset)


def _scoped_ruleset():
    return _create_ruleset(struct.pack("=QQQ", 0, 0, SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL))


def _harmless_ruleset(version):
    """Older kernels want some file access to be handled; the rule for / gives it back at once."""
    # Moving files between folders is refused unless handled and allowed; ABI 1 cannot allow it.
    handled = ACCESS_MAKE_BLOCK | (ACCESS_REFER if version >= 2 else 0)
    ruleset = _create_ruleset(struct.pack("=Q", handled))
    if ruleset < 0:
        return ruleset
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", handled, root)
        _libc.syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(root)
    return ruleset


def _create_ruleset(attributes):
    return _libc.syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)

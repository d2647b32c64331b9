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

# They pass the kernel's questions about other processes by: CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON (since Linux 6.12
# enough to read an environment), CAP_BPF; and, for the memory behind all of them, CAP_SYS_MODULE and CAP_SYS_RAWIO.
SPYING_CAPABILITIES = (19, 21, 38, 39, 16, 17)
PR_CAPBSET_DROP = 24
CAPABILITY_VERSION_3 = 0x20080522

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


def be_first_to_go():
    """Where memory runs out, the system is to end this process or what it started, not one of the user's own."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass  # Only Linux has it.


def landlock_version():
    """The kernel's Landlock ABI, 0 without Landlock."""
    if _libc is None:
        return 0
    return max(0, _libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION))


def hide_outside_processes():
    """
    Keeps this process and its descendants from looking into processes outside, as far as this system can, and says
    whether that worked, by trying: the parent, which stays outside, must be out of reach.

    The files it may use stay as they are. A Landlock domain is for that too, but what matters here is a side effect
    that also binds root: a process inside cannot trace one outside, and the kernel asks the same question before it
    shows /proc/<pid>/environ, mem or maps. From ABI 6 on it cannot signal one outside either.
    """
    _drop_capabilities()
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    version = landlock_version()
    if version > 0:
        _enter_domain(_scoped_ruleset() if version >= 6 else _harmless_ruleset(version))
    return not _can_read(f"/proc/{os.getppid()}/environ")


def _can_read(path):
    if _libc is None:
        return True
    try:
        with open(path, "rb") as file:
            file.read(1)
        return True
    except OSError:
        return False


def _drop_capabilities():
    """Root loses the capabilities to spy, for good; others have none."""
    if _libc is None:
        return
    for capability in SPYING_CAPABILITIES:
        _prctl(PR_CAPBSET_DROP, capability)
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    # Effective, permitted and inheritable: three words for the lower 32 capabilities, then three for the upper.
    words = ctypes.create_string_buffer(24)
    if _libc.capget(header, words) != 0:
        return
    kept = list(struct.unpack("=6I", words.raw))
    for capability in SPYING_CAPABILITIES:
        for kind in range(3):
            kept[capability // 32 * 3 + kind] &= ~(1 << capability % 32)
    _libc.capset(header, struct.pack("=6I", *kept))


def _enter_domain(ruleset):
    if ruleset >= 0:
        _libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0)
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

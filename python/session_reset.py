"""Brings a session back to how it was opened, and proves it; run in the kernel when the session is opened.

`restore()` of the object left on the shell undoes what scripts did to the interpreter and prints one line of JSON with
the problems it could not undo; a session with problems is not used again. Files are not touched: sessions share them.
"""

import asyncio
import builtins
import csv
import decimal
import faulthandler
import fcntl
import gc
import json
import locale
import logging
import os
import random
import signal
import socket
import sys
import sysconfig
import tempfile
import threading
import time
import tracemalloc
import types
import warnings

from IPython import get_ipython

PATCHABLE = (types.FunctionType, types.BuiltinFunctionType, type)
CONSTANTS = (str, bytes, int, float, complex, tuple, frozenset, type(None))
KILL_SECONDS = 2.0
THREAD_SECONDS = 0.2


def is_of_scripts(value):
    """True for functions and classes, and instances of classes, that were defined in a cell."""
    home = getattr(value, "__module__", None)
    return home == "__main__" or type(value).__module__ == "__main__"


def running_code():
    frame = sys._getframe()
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


def put_back(target, saved):
    """Makes a dict equal to `saved`, touching only what differs."""
    for name in [name for name in target if name not in saved]:
        del target[name]
    for name, value in saved.items():
        if target.get(name, target) is not value:
            target[name] = value


def differs(target, saved):
    return len(target) != len(saved) or any(
        target.get(name, target) is not value for name, value in saved.items()
    )


class Aspect:
    """One kind of thing that scripts may change; made when the session is as it should be."""

    def __init__(self, shell):
        self.shell = shell

    def restore(self):
        """Undoes what can be undone."""

    def problems(self):
        """What is not as it was, in words."""
        return ()


class Namespaces(Aspect):
    """Names of the scripts, and built-in ones."""

    def __init__(self, shell):
        super().__init__(shell)
        self.user = None
        self.hidden = dict(shell.user_ns_hidden)
        self.builtins = dict(vars(builtins))

    def settle(self):
        self.user = dict(self.shell.user_ns)

    def restore(self):
        put_back(vars(builtins), self.builtins)
        put_back(self.shell.user_ns, self.user)
        put_back(self.shell.user_ns_hidden, self.hidden)

    def problems(self):
        if differs(vars(builtins), self.builtins):
            yield "built-in names"
        if differs(self.shell.user_ns, self.user):
            yield "names"


class History(Aspect):
    """`In`, `Out` and their short names."""

    def restore(self):
        manager = self.shell.history_manager
        manager.input_hist_parsed[:] = [""]
        manager.input_hist_raw[:] = [""]
        manager.output_hist.clear()
        manager.output_hist_reprs.clear()
        manager.dir_hist[:] = manager.dir_hist[:1]
        manager._i00 = manager._i = manager._ii = manager._iii = ""
        hook = self.shell.displayhook
        hook._ = hook.__ = hook.___ = ""

    def problems(self):
        if self.shell.history_manager.output_hist:
            yield "Out"


class Shell(Aspect):
    """Hooks and settings of IPython."""

    SETTINGS = (
        "ast_node_interactivity",
        "autoindent",
        "call_pdb",
        "custom_exceptions",
        "CustomTB",
        "display_page",
        "loop_runner",
        "autoawait",
    )

    def __init__(self, shell):
        super().__init__(shell)
        self.settings = {name: getattr(shell, name) for name in self.SETTINGS if hasattr(shell, name)}
        self.magics = {kind: dict(table) for kind, table in shell.magics_manager.magics.items()}
        self.mode = getattr(shell.InteractiveTB, "mode", None)
        self.compiler_flags = shell.compile.flags
        self.known_hooks = {id(hook) for hooks in self.lists() for hook in hooks}

    def lists(self):
        shell = self.shell
        yield shell.ast_transformers
        for name in ("input_transformers_cleanup", "input_transformers_post"):
            yield getattr(shell, name, [])
        yield from shell.events.callbacks.values()
        manager = shell.input_transformer_manager
        yield from (manager.cleanup_transforms, manager.line_transforms, manager.token_transformers)

    def restore(self):
        shell = self.shell
        for name, value in self.settings.items():
            if getattr(shell, name) is not value:
                setattr(shell, name, value)
        shell.compile.flags = self.compiler_flags  # `from __future__` lasts.
        for name in [name for name, value in vars(shell).items() if is_of_scripts(value)]:
            delattr(shell, name)
        for hooks in self.lists():
            hooks[:] = [hook for hook in hooks if not self.is_foreign(hook)]
        for kind, table in self.magics.items():
            put_back(shell.magics_manager.magics[kind], table)
        if self.mode is not None and shell.InteractiveTB.mode != self.mode:
            shell.InteractiveTB.set_mode(self.mode)
        for formatter in shell.display_formatter.formatters.values():
            for table in (formatter.type_printers, formatter.deferred_printers, formatter.singleton_printers):
                for key in [key for key, value in table.items() if is_of_scripts(value)]:
                    del table[key]
        plain = shell.display_formatter.formatters["text/plain"]
        if plain.float_precision != "":
            plain.float_precision = ""
        if not plain.pprint:
            plain.pprint = True

    def is_foreign(self, hook):
        """Installed packages may add hooks; no package adds a built-in function."""
        if is_of_scripts(hook) or is_of_scripts(getattr(hook, "__self__", None)):
            return True
        return getattr(hook, "__module__", None) == "builtins" and id(hook) not in self.known_hooks


class Process(Aspect):
    """What the operating system keeps for the process."""

    LIMITS = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_STACK")

    def __init__(self, shell):
        super().__init__(shell)
        self.directory = os.getcwd()
        self.environment = dict(os.environ)
        self.umask = self.current_umask()
        self.outputs = [self.identity(number) for number in (0, 1, 2)]
        self.handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
        self.limits = self.current_limits()
        self.niceness = os.nice(0)
        self.locale = locale.setlocale(locale.LC_ALL)
        self.adopt_orphans()
        self.children = set(self.current_children())
        self.kept_open = set(self.opened_by_hand())

    @staticmethod
    def adopt_orphans():
        """Processes whose parent has ended become ours, so that they are found."""
        try:
            import ctypes

            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        except (ImportError, OSError, AttributeError):
            pass  # Only Linux has it.

    @staticmethod
    def current_umask():
        mask = os.umask(0o077)
        os.umask(mask)
        return mask

    @staticmethod
    def identity(number):
        try:
            status = os.fstat(number)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    @classmethod
    def opened_by_hand(cls):
        """Descriptors of listening sockets and of files to write to, with what they are; libraries keep other kinds."""
        if sys.platform != "linux":
            return
        for name in os.listdir("/proc/self/fd"):
            try:
                place = os.readlink(f"/proc/self/fd/{name}")
                if not place.startswith("/dev/") and cls.is_by_hand(int(name), place):
                    yield name, place
            except OSError:
                continue  # It was the listing's own.

    @staticmethod
    def is_by_hand(number, place):
        if place.startswith("/"):
            return fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        if not place.startswith("socket:"):
            return False
        with socket.socket(fileno=os.dup(number)) as end:
            return end.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) != 0

    def current_limits(self):
        try:
            import resource
        except ImportError:
            return {}
        return {
            number: resource.getrlimit(number)
            for number in (getattr(resource, name, None) for name in self.LIMITS)
            if number is not None
        }

    @staticmethod
    def current_children():
        try:
            tasks = os.listdir("/proc/self/task")
            found = []
            for task in tasks:
                with open(f"/proc/self/task/{task}/children") as listing:
                    found += [int(word) for word in listing.read().split()]
            return found
        except OSError:
            import psutil

            return [child.pid for child in psutil.Process().children()]

    def end_children(self):
        deadline = time.monotonic() + KILL_SECONDS
        while time.monotonic() < deadline:
            strays = [pid for pid in self.current_children() if pid not in self.children]
            if not strays:
                return
            for pid in strays:
                try:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                except (ProcessLookupError, ChildProcessError):
                    pass

    def restore(self):
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        for number, handler in self.handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
        self.end_children()
        zone = os.environ.get("TZ")
        for name in [name for name in os.environ if name not in self.environment]:
            del os.environ[name]
        for name, value in self.environment.items():
            if os.environ.get(name) != value:
                os.environ[name] = value
        if zone != os.environ.get("TZ"):
            time.tzset()
        os.chdir(self.directory)
        os.umask(self.umask)
        if locale.setlocale(locale.LC_ALL) != self.locale:
            locale.setlocale(locale.LC_ALL, self.locale)
        self.restore_limits()

    def restore_limits(self):
        for number, limits in self.limits.items():
            import resource

            if resource.getrlimit(number) != limits:
                try:
                    resource.setrlimit(number, limits)
                except (ValueError, OSError):
                    pass  # A lowered hard limit stays; the check says so.

    def problems(self):
        if os.getcwd() != self.directory:
            yield "working directory"
        if dict(os.environ) != self.environment:
            yield "environment variables"
        if [self.identity(number) for number in (0, 1, 2)] != self.outputs:
            yield "standard file descriptors"
        if any(pid not in self.children for pid in self.current_children()):
            yield "child processes"
        if not self.kept_open.issuperset(self.opened_by_hand()):
            yield "open files or listening sockets"
        if self.current_limits() != self.limits:
            yield "resource limits"
        if os.nice(0) != self.niceness:
            yield "priority"
        if any(
            handler is not None and signal.getsignal(number) is not handler
            for number, handler in self.handlers.items()
        ):
            yield "signal handlers"


class Interpreter(Aspect):
    """Settings of Python itself."""

    OBJECTS = (
        "stdin",
        "stdout",
        "stderr",
        "__stdin__",
        "__stdout__",
        "__stderr__",
        "displayhook",
        "excepthook",
        "breakpointhook",
        "unraisablehook",
        "dont_write_bytecode",
        "path",
        "meta_path",
        "path_hooks",
        "modules",
        "argv",
    )
    CONTEXT = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")

    def __init__(self, shell):
        super().__init__(shell)
        self.objects = {name: getattr(sys, name) for name in self.OBJECTS if hasattr(sys, name)}
        self.lists = {name: list(getattr(sys, name)) for name in ("path", "meta_path", "path_hooks", "argv")}
        self.recursion = sys.getrecursionlimit()
        self.switch = sys.getswitchinterval()
        self.digits = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else None
        self.filters = list(warnings.filters)
        self.collector = (gc.isenabled(), gc.get_threshold(), list(gc.callbacks))
        self.coroutines = (sys.get_coroutine_origin_tracking_depth(), sys.get_asyncgen_hooks())
        self.longest_field = csv.field_size_limit()
        self.timeout = socket.getdefaulttimeout()
        self.folder = tempfile.tempdir
        self.stack = threading.stack_size()
        self.context = decimal.getcontext().copy()
        self.defaults = self.read_context(decimal.DefaultContext)
        self.loggers = {logger: self.read_logger(logger) for logger in self.current_loggers()}
        self.disabled_logging = logging.root.manager.disable

    def read_context(self, context):
        return {name: getattr(context, name) for name in self.CONTEXT}, dict(context.traps)

    def restore(self):
        sys.settrace(None)
        sys.setprofile(None)
        threading.settrace(None)
        threading.setprofile(None)
        for name, value in self.objects.items():
            if getattr(sys, name, None) is not value:
                setattr(sys, name, value)
                if name in ("stdout", "stderr") and hasattr(value, "set_parent"):
                    value.set_parent(self.shell.get_parent())  # Else its text goes to an earlier cell.
        for name, values in self.lists.items():
            if getattr(sys, name) != values:
                getattr(sys, name)[:] = values
                sys.path_importer_cache.clear()
        sys.setrecursionlimit(self.recursion)
        sys.setswitchinterval(self.switch)
        if self.digits is not None:
            sys.set_int_max_str_digits(self.digits)
        if warnings.filters != self.filters:
            warnings.filters[:] = self.filters
            # Renamed in Python 3.14.
            mutated = getattr(warnings, "_filters_mutated_lock_held", None) or warnings._filters_mutated
            mutated()
        (gc.enable if self.collector[0] else gc.disable)()
        gc.set_threshold(*self.collector[1])
        gc.callbacks[:] = self.collector[2]
        tracemalloc.stop()
        sys.set_coroutine_origin_tracking_depth(self.coroutines[0])
        sys.set_asyncgen_hooks(*self.coroutines[1])
        csv.field_size_limit(self.longest_field)
        socket.setdefaulttimeout(self.timeout)
        tempfile.tempdir = self.folder
        threading.stack_size(self.stack)
        random.seed()
        self.restore_decimal()
        self.restore_logging()

    def restore_decimal(self):
        values, traps = self.defaults
        for name, value in values.items():
            setattr(decimal.DefaultContext, name, value)
        decimal.DefaultContext.traps.update(traps)
        decimal.setcontext(self.context.copy())

    @staticmethod
    def current_loggers():
        named = logging.root.manager.loggerDict.values()
        return [logging.root, *(logger for logger in named if isinstance(logger, logging.Logger))]

    @staticmethod
    def read_logger(logger):
        return list(logger.handlers), list(logger.filters), logger.level, logger.propagate, logger.disabled

    def restore_logging(self):
        for logger in self.current_loggers():
            # One that came later is as it is made, but for what its library may have given it.
            silent = [handler for handler in logger.handlers if isinstance(handler, logging.NullHandler)]
            fresh = (silent, [], logging.NOTSET, True, False)
            handlers, filters, level, logger.propagate, logger.disabled = self.loggers.get(logger, fresh)
            logger.handlers[:] = handlers
            logger.filters[:] = filters
            if logger.level != level:
                logger.setLevel(level)
        if logging.root.manager.disable != self.disabled_logging:
            logging.disable(self.disabled_logging)

    def problems(self):
        for name, value in self.objects.items():
            if getattr(sys, name, None) is not value:
                yield f"sys.{name}"
        if sys.getrecursionlimit() != self.recursion:
            yield "recursion limit"
        if warnings.filters != self.filters:
            yield "warning filters"


class Modules(Aspect):
    """Modules that scripts wrote, took away or changed; installed ones stay loaded, since many cannot load twice."""

    def __init__(self, shell):
        super().__init__(shell)
        self.names = dict(sys.modules)
        self.accepted = dict(sys.modules)
        self.contents = {
            name: {key: value for key, value in vars(module).items() if self.stays(name, key, value)}
            for name, module in self.names.items()
            if name != "__main__" and isinstance(module, types.ModuleType)
        }
        places = {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
        places.update(path for path in sys.path if os.path.isabs(path))
        here = os.getcwd()
        self.places = tuple(
            os.path.join(path, "") for path in places if path and not (here + "/").startswith(path + "/")
        )

    @staticmethod
    def stays(module, name, value):
        """Functions and classes, and the constants of the standard library: no library changes those of another."""
        if isinstance(value, PATCHABLE):
            return True
        is_public = not name.startswith("_") and module != "sys"
        return is_public and isinstance(value, CONSTANTS) and module.partition(".")[0] in sys.stdlib_module_names

    def restore(self):
        for name, module in list(sys.modules.items()):
            if self.accepted.get(name) is module:
                continue
            if self.is_installed(name):
                self.accepted[name] = module
            elif name not in self.names:
                del sys.modules[name]
        for name, module in self.names.items():
            if sys.modules.get(name) is not module:
                sys.modules[name] = module
        for name, saved in self.contents.items():
            contents = vars(self.names[name])
            for key, value in saved.items():
                if contents.get(key, contents) is not value:
                    setattr(self.names[name], key, value)

    def is_installed(self, name):
        module = sys.modules[name]
        if getattr(getattr(module, "__spec__", None), "origin", None) in ("built-in", "frozen"):
            return True
        files = [getattr(module, "__file__", None) or ""] + list(getattr(module, "__path__", None) or [])
        if any(os.path.join(str(file), "").startswith(self.places) for file in files if file):
            return True
        if any(files):
            return False
        package, _, rest = name.rpartition(".")
        # Made at run time by an installed package, or by Cython for all its modules.
        return (package in sys.modules and self.is_installed(package)) or name.startswith(("_cython_", "cython_"))


class Libraries(Aspect):
    """Settings of libraries that scripts may have loaded since."""

    def restore(self):
        for name in ("numpy", "pandas", "matplotlib", "mpmath", "sklearn", "scipy.special"):
            if name in sys.modules:
                getattr(self, name.replace(".", "_"))(sys.modules[name])

    def mpmath(self, mpmath):
        for context in (mpmath.mp, mpmath.iv):
            context.prec = 53
        mpmath.mp.pretty = mpmath.mp.trap_complex = False

    def sklearn(self, sklearn):
        from sklearn import _config as config

        sklearn.set_config(**config._global_config)

    def scipy_special(self, special):
        special.seterr(all="ignore")

    def numpy(self, numpy):
        numpy.random.seed()
        numpy.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
        numpy.seterrcall(None)
        numpy.set_printoptions(
            edgeitems=3,
            infstr="inf",
            linewidth=75,
            nanstr="nan",
            precision=8,
            suppress=False,
            threshold=1000,
            formatter=None,
            sign="-",
            floatmode="maxprec",
            legacy=False,
        )

    def pandas(self, pandas):
        from pandas._config import config

        for name, option in config._registered_options.items():
            if name in config._deprecated_options:
                continue
            value = pandas.get_option(name)
            if value is not option.defval and value != option.defval:
                pandas.set_option(name, option.defval)

    def matplotlib(self, matplotlib):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")
        for name, value in dict.items(matplotlib.rcParamsOrig):
            if name in ("backend", "backend_fallback", "interactive"):
                continue
            if dict.__getitem__(matplotlib.rcParams, name) != value:
                matplotlib.rcParams[name] = value
        wanted = os.environ.get("MPLBACKEND")
        if wanted is None:
            return
        if pyplot is None:
            matplotlib.rcParams["backend"] = wanted
            return
        if matplotlib.get_backend().lower() not in (wanted.lower(), wanted.rpartition("_")[2]):
            pyplot.switch_backend(wanted)
        if "inline" in wanted:
            matplotlib.interactive(True)


class Activity(Aspect):
    """Threads and tasks that run on."""

    def __init__(self, shell):
        super().__init__(shell)
        self.threads = set(threading.enumerate())

    def strays(self):
        return [thread for thread in threading.enumerate() if thread not in self.threads]

    def restore(self):
        try:
            tasks = asyncio.all_tasks(asyncio.get_event_loop())
        except RuntimeError:
            tasks = ()
        for task in tasks:
            frame = getattr(task.get_coro(), "cr_frame", None)
            if frame is not None and frame.f_globals is self.shell.user_ns and task is not self.current():
                task.cancel()
        tqdm = getattr(sys.modules.get("tqdm"), "tqdm", None)
        monitor = getattr(tqdm, "monitor", None)
        if monitor is not None:
            monitor.exit()
            tqdm.monitor = None

    @staticmethod
    def current():
        try:
            return asyncio.current_task()
        except RuntimeError:
            return None

    def problems(self):
        strays = self.strays()
        if strays:
            # Workers of a pool end when the pool is no longer referred to.
            gc.collect()
            deadline = time.monotonic() + THREAD_SECONDS
            for thread in strays:
                thread.join(max(0.0, deadline - time.monotonic()))
        return [f"thread {thread.name}" for thread in self.strays()]


class Survivors(Aspect):
    """Functions of the scripts that something outside them still holds: a patched library, a registered callback."""

    def restore(self):
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            if hasattr(sys, name):
                delattr(sys, name)
        for name in ("etype", "value", "tb"):
            if hasattr(self.shell.InteractiveTB, name):
                setattr(self.shell.InteractiveTB, name, None)
        self.shell.last_execution_result = None

    def problems(self):
        running = set(running_code())
        for holder in gc.get_referrers(self.shell.user_ns):
            if type(holder) is types.FunctionType and holder.__code__ not in running:
                yield f"a function of a script, {holder.__qualname__}, is still in use"


class Baseline:
    def __init__(self, shell):
        self.namespaces = Namespaces(shell)
        history = History(shell)
        # Python's own settings come back first: the rest relies on them.
        self.aspects = [
            self.namespaces,
            Interpreter(shell),
            Modules(shell),
            Process(shell),
            Shell(shell),
            Libraries(shell),
            Activity(shell),
            history,
            Survivors(shell),
        ]
        history.restore()
        self.forget_last_cell(shell)
        self.namespaces.settle()
        self.set_aside()

    @staticmethod
    def set_aside():
        """What is alive now stays; only what comes later needs to be looked through."""
        gc.collect()
        gc.freeze()

    @staticmethod
    def forget_last_cell(shell):
        for name in [name for name in shell.user_ns if name.startswith("_i") and name[2:].isdigit()]:
            del shell.user_ns[name]
        shell.user_ns.update({name: "" for name in ("_", "__", "___", "_i", "_ii", "_iii")})

    def restore(self):
        problems = []
        for aspect in self.aspects:
            try:
                aspect.restore()
            except Exception as error:  # The session is given up, whatever it was.
                problems.append(f"{type(aspect).__name__}: {type(error).__name__}: {error}")
        if not problems:
            gc.collect()  # What only circles hold, such as an open file, is gone then.
            for aspect in self.aspects:
                problems.extend(aspect.problems())
        if not problems:
            gc.freeze()
        print(json.dumps({"problems": problems[:20]}))


get_ipython().colab_session_baseline = Baseline(get_ipython())

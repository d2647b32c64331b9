"""Notes what each script displays and which files it makes; put into a kernel after the session guard.

Everything a notebook would show is kept as a Jupyter MIME bundle, up to a number and a size. When a script has shown or
written something, one marked line of JSON goes to the kernel's stderr, which the client takes out again: the server hands
on nothing but text. Bundles, and reports too long for a line, lie in a folder beside the scripts' files until the next script.
"""

import atexit
import base64
import itertools
import json
import os
import shutil
import sys
import threading
import time

from IPython import get_ipython

MOST_DISPLAYS = 200
MOST_DISPLAY_BYTES = 16 << 20
MOST_BYTES = 64 << 20
MOST_FILES = 10_000
MOST_FOLDERS = 200
MOST_LINE_CHARACTERS = 8_000
# File systems take their time from a clock that ticks this often at least.
TICK_NS = 20_000_000
COLAB_FOLDER = "/content"
MARK = "\x1e"


def working_folder(start):
    """The folder whose files the client can reach; a kernel need not start there."""
    is_reachable = os.path.basename(start) == "content" or not os.path.isdir(COLAB_FOLDER)
    return start if is_reachable else COLAB_FOLDER


def plain(value):
    return base64.b64encode(value).decode() if isinstance(value, (bytes, bytearray, memoryview)) else value


def jsonable(value):
    value = plain(value)
    return value if isinstance(value, str) else value.tolist() if hasattr(value, "tolist") else str(value)


def to_json(value):
    try:
        return json.dumps(value, default=jsonable, allow_nan=False)
    except ValueError:
        # No JSON has a word for what is not a number.
        loose = json.dumps(value, default=jsonable)
        return json.dumps(json.loads(loose, parse_constant=lambda _: None))


class Displays:
    """What one script has shown."""

    def __init__(self):
        self.bundles = []
        self.size = 0
        self.dropped = 0
        self.places = {}
        self.lock = threading.Lock()

    def add(self, data, metadata, *, name=None, is_update=False, is_value=False):
        size = sum(len(value) for value in data.values() if isinstance(value, (str, bytes)))
        with self.lock:
            place = self.places.get(name) if is_update else None
            if place is None and len(self.bundles) >= MOST_DISPLAYS:
                self.dropped += 1
                return
            old = 0 if place is None else len(self.bundles[place])
            bundle = None if size > MOST_DISPLAY_BYTES else self.encoded(data, metadata, is_value)
            if bundle is None or self.size - old + len(bundle) > MOST_BYTES:
                types = [str(kind) for kind in data]
                problem = "it is too large" if bundle is None else "the script has displayed too much"
                bundle = to_json({"mimeTypes": types, "isValue": is_value, "problem": problem})
            self.size += len(bundle) - old
            if place is None:
                place = len(self.bundles)
                self.bundles.append(bundle)
            else:
                self.bundles[place] = bundle
            if name is not None:
                self.places[name] = place

    @staticmethod
    def encoded(data, metadata, is_value):
        bundle = {str(kind): plain(value) for kind, value in data.items()}
        text = to_json({"data": bundle, "metadata": metadata or {}, "isValue": is_value})
        return text if len(text) <= 2 * MOST_DISPLAY_BYTES else None


def touched_since(start_ns, root):
    """
    Status of the files below the folder that were made, written or put there since: not of hidden ones, nor of those on a
    mounted drive. One look after a script is enough, since no script can set the time by which they are told.
    """
    found = {}
    looked_at = 0
    folders = [(root, "")]
    try:
        device = os.stat(root).st_dev
    except OSError:
        return found
    for folder, prefix in folders:
        try:
            with os.scandir(folder) as entries:
                for entry in itertools.islice(entries, 2 * MOST_FILES):
                    name = entry.name
                    if name.startswith(".") or name == "__pycache__":
                        continue
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            if len(folders) < MOST_FOLDERS and entry.stat(follow_symlinks=False).st_dev == device:
                                folders.append((entry.path, f"{prefix}{name}/"))
                        elif entry.is_file():
                            looked_at += 1
                            status = entry.stat()
                            if status.st_ctime_ns >= start_ns and is_text(prefix + name):
                                found[prefix + name] = status
                    except OSError:
                        continue
        except OSError:
            continue
        if looked_at >= MOST_FILES:
            break
    return found


def is_text(name):
    try:
        name.encode()
        return True
    except UnicodeEncodeError:
        return False


class SessionWatch:
    def __init__(self, shell, token):
        self.token = token
        self._shell = shell
        self._process = os.getpid()
        self._root = working_folder(shell.starting_dir)
        self._folder = os.path.join(self._root, f".colab-solver-{token}")
        self._is_filed = False
        self._displays = None
        self._told = {}
        self._start_ns = 0
        # A script may put others in their place.
        self._streams = (sys.stdout, sys.stderr)

    def before_cell(self, _info):
        execution = self._shell.colab_session_guard.execution
        if execution is None or os.getpid() != self._process:
            return
        self._clear()
        self._shell.colab_session_guard.report = ""
        self._displays = Displays()
        self._start_ns = time.time_ns() - TICK_NS

    def after_cell(self, _result):
        displays, self._displays = self._displays, None
        if displays is None or os.getpid() != self._process:
            return
        try:
            self._tell(displays)
        except (Exception, KeyboardInterrupt):
            # What went wrong here is no fault of the script's.
            return

    def _tell(self, displays):
        changed = self._changed()
        execution = self._shell.colab_session_guard.execution
        if not displays.bundles and not changed:
            return
        counts = {"execution": execution, "shown": len(displays.bundles), "dropped": displays.dropped}
        whole = json.dumps({**counts, "changed": changed})
        is_long = len(whole) > MOST_LINE_CHARACTERS
        problem = self._file(execution, [whole, *displays.bundles]) if is_long or displays.bundles else None
        line = json.dumps({**counts, "isLong": True}) if is_long else whole
        if problem is not None:
            line = json.dumps({**json.loads(line), "problem": problem})
        self._shell.colab_session_guard.report = line
        for stream in self._streams:
            try:
                stream.flush()
            except Exception:
                continue
        text = f"{MARK}colab-solver {self.token} {line}{MARK}\n"
        kernel = self._shell.kernel
        kernel.send_response(kernel.iopub_socket, "stream", {"name": "stderr", "text": text})

    def _changed(self):
        told, self._told = self._told, {}
        changed = []
        for name, status in touched_since(self._start_ns, self._root).items():
            self._told[name] = (status.st_size, status.st_ctime_ns)
            if told.get(name) != self._told[name]:
                changed.append([name, status.st_size, status.st_mtime_ns // 1_000_000])
        return sorted(changed)

    def _file(self, execution, lines):
        self._is_filed = True
        path = os.path.join(self._folder, f"{execution}.jsonl")
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            return f"they could not be written ({error.strerror})"
        return None

    def _clear(self):
        if self._is_filed and os.getpid() == self._process:
            self._is_filed = False
            shutil.rmtree(self._folder, ignore_errors=True)

    def note(self, data, metadata, **options):
        displays = self._displays
        if displays is None or os.getpid() != self._process:
            return
        try:
            displays.add(data, metadata, **options)
        except Exception:
            displays.dropped += 1

    def install(self):
        shell = self._shell
        publish = shell.display_pub.publish
        write_value = shell.displayhook.write_format_data

        def noted_publish(data, metadata=None, *arguments, **options):
            publish(data, metadata, *arguments, **options)
            name = (options.get("transient") or {}).get("display_id")
            self.note(data, metadata, name=name, is_update=options.get("update", False))

        def noted_value(format_dict, md_dict=None, *arguments, **options):
            write_value(format_dict, md_dict, *arguments, **options)
            if len(format_dict) > 1 or "text/plain" not in format_dict:
                self.note(format_dict, md_dict, is_value=True)

        shell.display_pub.publish = noted_publish
        shell.displayhook.write_format_data = noted_value
        shell.events.register("pre_run_cell", self.before_cell)
        shell.events.register("post_run_cell", self.after_cell)
        atexit.register(self._clear)
        shell.colab_session_watch = self


def install(token):
    shell = get_ipython()
    if getattr(getattr(shell, "colab_session_watch", None), "token", None) != token:
        SessionWatch(shell, token).install()


install(token)  # noqa: F821 (given by the caller)

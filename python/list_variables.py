"""Prints, as one line of JSON, what variables a session has; runs no code of theirs, whatever they are.

Types are compared by identity and sizes asked only of built-in types and of known libraries, since a class of the user's
may define `__repr__`, `__len__`, `__class__` or `shape` as it likes, and may take for ever over it.
"""

import json
import sys
import types

from IPython import get_ipython

LIMIT = 200
TEXT = 40
CONTAINERS = (list, tuple, dict, set, frozenset)
LEFT_OUT = (types.ModuleType,)
type_name = type.__dict__["__name__"].__get__


def known(module, name):
    """A class of a library that is loaded anyway; a module that only calls itself so is no danger: types are compared."""
    return getattr(sys.modules.get(module), name, None)


def shape_of(value, cls):
    if cls in CONTAINERS:
        return f"{len(value)} item{'' if len(value) == 1 else 's'}"
    if cls in (str, bytes, bytearray):
        unit = "character" if cls is str else "byte"
        return f"{len(value)} {unit}{'' if len(value) == 1 else 's'}"
    if cls in SHAPED:
        return " × ".join(str(int(size)) for size in value.shape) or "scalar"
    return ""


def size_of(value, cls):
    if cls is known("pandas", "DataFrame"):
        return int(value.memory_usage(deep=False).sum())
    if cls is known("pandas", "Series"):
        return int(value.memory_usage(deep=False))
    if cls is known("numpy", "ndarray"):
        return int(value.nbytes)
    if cls is known("torch", "Tensor"):
        return int(value.element_size() * value.nelement())
    if cls in CONTAINERS or cls in PLAIN:
        return sys.getsizeof(value)
    return None


def short(value, cls):
    if cls is int and value.bit_length() > 120:
        return ""
    if cls in (bool, int, float, complex, type(None)):
        return repr(value)
    if cls is str:
        return repr(value) if len(value) <= TEXT else repr(value[:TEXT])[:-1] + "…"
    return ""


PLAIN = (bool, int, float, complex, str, bytes, bytearray, type(None))
SHAPED = [
    cls
    for cls in (
        known("pandas", "DataFrame"),
        known("pandas", "Series"),
        known("numpy", "ndarray"),
        known("torch", "Tensor"),
    )
    if cls is not None
]


def describe(name, value):
    cls = type(value)
    row = {"name": name, "type": type_name(cls)[:TEXT], "shape": "", "sizeBytes": None, "value": ""}
    try:
        row.update(shape=shape_of(value, cls), sizeBytes=size_of(value, cls), value=short(value, cls))
    except Exception:
        pass  # A broken object of a library; its name and type are known all the same.
    return row


def main():
    shell = get_ipython()
    hidden = shell.user_ns_hidden
    found = [
        (name, value)
        for name, value in list(shell.user_ns.items())
        if type(name) is str
        and not name.startswith("_")
        and not (name in hidden and hidden[name] is value)
        and type(value) not in LEFT_OUT
    ]
    found.sort(key=lambda pair: pair[0])
    rows = [describe(name[:100], value) for name, value in found[:LIMIT]]
    text = json.dumps({"variables": rows, "left": max(0, len(found) - LIMIT)})
    print(text)


main()

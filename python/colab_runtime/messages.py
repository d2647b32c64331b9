"""How a kernel's messages become bytes."""

import json
import re

from jupyter_client.jsonutil import json_clean, json_default

SURROGATE = re.compile("[\ud800-\udfff]")


def pack(message):
    """Halves of characters, which UTF-8 has no place for, become text such as \\ud800: the rest shall arrive."""
    try:
        text = to_json(message)
    except (TypeError, ValueError):
        text = to_json(json_clean(message))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return SURROGATE.sub(lambda half: f"\\\\u{ord(half[0]):04x}", text).encode()


def to_json(message):
    return json.dumps(message, default=json_default, ensure_ascii=False, allow_nan=False)

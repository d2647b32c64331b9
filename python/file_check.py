"""Prints the size and the SHA-256 of the file `path`, as JSON; null where it cannot be read.

The path is relative to the folder in which scripts start, wherever a script has gone since.
"""

import hashlib
import json
import os

from IPython import get_ipython

PIECE_BYTES = 1 << 20
COLAB_FOLDER = "/content"


def check(path):
    candidates = [os.path.join(folder, path) for folder in (get_ipython().starting_dir, COLAB_FOLDER)]
    found = next(filter(os.path.isfile, candidates), None)
    if found is None:
        return None
    digest = hashlib.sha256()
    size = 0
    with open(found, "rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
    return {"sizeBytes": size, "sha256": digest.hexdigest()}


print(json.dumps(check(path)))  # noqa: F821 (given by the caller)

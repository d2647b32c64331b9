#!/bin/sh
# Makes python/requirements.txt anew from python/requirements.in: one list with hashes for Python 3.10 to 3.14 on every
# platform. Needs uv.
cd "$(dirname "$0")/.." || exit 1
exec uv pip compile python/requirements.in --output-file python/requirements.txt --quiet \
  --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-emit-find-links \
  --custom-compile-command scripts/lock-python.sh "$@"

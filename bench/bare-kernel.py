"""Runs a script on a kernel with nothing but jupyter_client, over TCP as it comes.

Reads one JSON string of code a line, writes one JSON object a line: the milliseconds from sending the request to
having both the reply and the kernel's word that it is idle, and what was printed.
"""

import json
import sys
import time

from jupyter_client.manager import start_new_kernel


def execute(client, code):
    started = time.perf_counter()
    request = client.execute(code, allow_stdin=False)
    printed = []
    while True:
        message = client.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    while client.get_shell_msg(timeout=60)["parent_header"].get("msg_id") != request:
        pass
    return {"ms": (time.perf_counter() - started) * 1000, "stdout": "".join(printed)}


def main():
    manager, client = start_new_kernel()
    try:
        print(json.dumps("ready"), flush=True)
        for line in sys.stdin:
            print(json.dumps(execute(client, json.loads(line))), flush=True)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


main()

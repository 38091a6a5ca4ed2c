"""Receives tracejury's webhooks and stops the task that a finding is about. The standard library is enough.

`HOOK_SECRET=whsec_… python receiver.py [PORT]`: for each finding a file named after the task is made in STOP_FOLDER.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import sys
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

KEY = base64.b64decode(os.environ["HOOK_SECRET"].removeprefix("whsec_"))
STOP = Path(os.environ.get("STOP_FOLDER", "stop"))
TOLERANCE = 300  # seconds: an older request may be a recording, played again
LONGEST = 1_000_000
TASK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")  # it becomes a file's name
REMEMBERED = 10_000  # ids of findings: one may come twice, under one id, but soon
seen: OrderedDict[str, None] = OrderedDict()


def genuine(headers: dict[str, str], body: bytes) -> bool:
    """Whether tracejury has sent this, just now (Standard Webhooks)."""
    name, moment = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not moment.isdecimal() or abs(time.time() - int(moment)) > TOLERANCE:
        return False
    made = base64.b64encode(hmac.digest(KEY, f"{name}.{moment}.".encode() + body, hashlib.sha256)).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(f"v1,{made}".encode(), one.encode()) for one in given)


class Receiver(BaseHTTPRequestHandler):
    """One request."""

    def do_POST(self) -> None:
        """Check it, stop the task, say thanks."""
        length = self.headers.get("content-length", "")
        body = self.rfile.read(int(length)) if length.isdecimal() and int(length) <= LONGEST else b""
        if not genuine({name.lower(): value for name, value in self.headers.items()}, body):
            self.send_error(401)
            return
        event = json.loads(body)
        if event["type"] == "finding.found" and first_time(event["id"]):
            stop(event["data"]["trace"]["task_id"] or "", event["data"]["finding"])
        self.send_response(204)
        self.end_headers()


def first_time(name: str) -> bool:
    """Whether this one has not come before, as far as is remembered."""
    known = name in seen
    seen[name] = None
    seen.move_to_end(name)
    if len(seen) > REMEMBERED:
        seen.popitem(last=False)
    return not known


def stop(task: str, finding: dict[str, str]) -> None:
    """Tell the agent that works on the task."""
    if TASK.fullmatch(task):
        (STOP / task).touch()
        sys.stdout.write(f"stopping {task}: {finding['severity']} {finding['category']}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    STOP.mkdir(parents=True, exist_ok=True)
    server = HTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9000), Receiver)
    sys.stdout.write(f"receiving at http://127.0.0.1:{server.server_port}/\n")
    sys.stdout.flush()
    server.serve_forever()

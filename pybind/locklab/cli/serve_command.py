# SPDX-License-Identifier: MIT
"""``locklab serve``: the live page until Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence

from locklab.cli.usage import Parser, add, port
from locklab.web import Dashboard

_EXAMPLES = """examples:
  locklab serve                    a free port on 127.0.0.1; the URL is printed
  locklab serve --port 8080
  LOCKLAB_TOKEN=secret locklab serve --host 0.0.0.0

Off loopback a token is needed: LOCKLAB_TOKEN, or one is made and stands in the printed URL.
Ctrl-C or SIGTERM stops the running run and ends.
"""


def main(words: Sequence[str]) -> int:
    """The command; its exit code."""
    parser = Parser("serve", "Serve the live page; start and stop runs from it.", _EXAMPLES)
    add(parser, "--host", default="127.0.0.1", metavar="H", help="address to listen on")
    add(parser, "--port", type=port, default=0, metavar="P", help="0 (default): any free one")
    args = parser.parse(words)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with Dashboard(host=args.host, port=args.port) as dashboard:
        for line in dashboard.remarks:
            print(f"locklab serve: {line}", file=sys.stderr)
        print(dashboard.url, flush=True)
        print("Ctrl-C ends it.", file=sys.stderr)
        while not ended.wait(0.5):  # a timeout, so that signals reach the main thread
            pass
    return 0

# SPDX-License-Identifier: MIT
"""A process that reads many event streams at once and counts what comes.

Its argument, if any, is the CPU to run on. Driven by lines on stdin: ``open PORT PATH COUNT``
answers ``opened N`` once every stream has sent something, ``close`` answers one JSON object about
the time since. Ends with its input.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import sys
import time

TICK = b"event: tick"
PATIENCE_S = 20.0


class Stream:
    """One connection: how many ticks came, and the end of what was read, where one may be split."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Accept: text/event-stream"]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self.socket.setblocking(False)
        self.ticks = self.bytes = 0
        self.accepted = False
        self._tail = b""

    def read(self) -> bool:
        """Take what is there; False: the stream has ended."""
        try:
            data = self.socket.recv(65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.bytes += len(data)
        self.accepted = self.accepted or data.startswith(b"HTTP/1.1 200 ")
        text = self._tail + data
        self.ticks += text.count(TICK)
        self._tail = text[-(len(TICK) - 1) :]
        return bool(data)


class Client:
    """All streams of one session."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.streams: list[Stream] = []
        self.ended = 0
        self.since = self.cpu = 0.0

    def serve(self, timeout: float | None) -> None:
        for key, _ in self.selector.select(timeout):
            if key.data is None:
                self.command(os.read(0, 4096).decode().strip())
            elif not key.data.read():
                self.selector.unregister(key.data.socket)
                self.ended += 1

    def command(self, line: str) -> None:
        if not line:
            sys.exit(0)
        word, *rest = line.split()
        print(self.open(*rest) if word == "open" else self.close(), flush=True)

    def open(self, port: str, path: str, count: str) -> str:
        for _ in range(int(count)):
            stream = Stream(int(port), path)
            self.streams.append(stream)
            self.selector.register(stream.socket, selectors.EVENT_READ, stream)
        deadline = time.monotonic() + PATIENCE_S
        while not all(s.bytes for s in self.streams) and time.monotonic() < deadline:
            self.serve(0.05)
        ready = sum(s.accepted for s in self.streams)
        for stream in self.streams:
            stream.ticks = stream.bytes = 0
        self.since, self.cpu = time.monotonic(), time.process_time()
        return f"opened {ready}"

    def close(self) -> str:
        ticks = [s.ticks for s in self.streams]
        found = {
            "seconds": time.monotonic() - self.since,
            "cpu_s": time.process_time() - self.cpu,
            "ticks": sum(ticks),
            "least": min(ticks, default=0),
            "most": max(ticks, default=0),
            "bytes": sum(s.bytes for s in self.streams),
            "ended": self.ended,
        }
        for stream in self.streams:
            stream.socket.close()
        watched = [key.data for key in self.selector.get_map().values() if key.data is not None]
        for stream in watched:
            self.selector.unregister(stream.socket)
        self.streams, self.ended = [], 0
        return json.dumps(found)


def main() -> None:
    if len(sys.argv) > 1:
        os.sched_setaffinity(0, {int(sys.argv[1])})
    client = Client()
    client.selector.register(0, selectors.EVENT_READ, None)
    while True:
        client.serve(None)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""A server under test with a program behind it, and a client that can misbehave.

Requests are written byte by byte as given: the standard library's client would refuse to send most
of what the tests want to see refused.
"""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any, BinaryIO

from locklab import _core
from locklab.errors import RunError

PAGE = b"<!doctype html><title>locklab</title>" + b"<p>lock</p>" * 200
ASSETS = [
    ("/index.html", "text/html; charset=utf-8", '"p1"', PAGE, b"\x1f\x8b not really gzip"),
    ("/app.js", "text/javascript", '"a1"', b"export {};", None),
]
TIMEOUT_S = 30

Answer = tuple[int, str, bytes, str | None]
Program = Callable[[str, str, bytes], Answer]


def echo(method: str, path: str, body: bytes) -> Answer:
    """Answers with what arrived; POST creates something."""
    text = json.dumps([method, path, body.decode()]).encode()
    if method == "POST":
        return 201, "application/json", text, "/api/v1/runs/7"
    return 200, "application/json", text, None


@contextlib.contextmanager
def serving(program: Program | None = echo, **options: Any) -> Iterator[_core.Server]:
    """A started server whose API requests `program` answers (None: nobody does)."""
    server = _core.Server(
        {"host": "127.0.0.1", "port": 0, "rate_hz": 20.0, "max_clients": 32, "assets": ASSETS}
        | options
    )

    def answer_all() -> None:
        assert program is not None
        with contextlib.suppress(RunError):  # ECANCELED: the server was stopped
            while True:
                request = server.next_request(1.0)
                if request is not None:
                    number, method, path, body = request
                    status, kind, text, location = program(method, path, body)
                    server.answer(number, status, kind, text, location)

    thread = threading.Thread(target=answer_all) if program else None
    try:
        if thread:
            thread.start()
        yield server
    finally:
        server.stop()
        if thread:
            thread.join(TIMEOUT_S)
            assert not thread.is_alive()


@dataclass
class Reply:
    """One response; header names are lower case, repeated headers are joined by a comma."""

    status: int
    headers: dict[str, str]
    body: bytes

    def problem(self) -> dict[str, Any]:
        """The problem document (RFC 9457) that every refusal must be."""
        assert self.headers["content-type"] == "application/problem+json"
        document = json.loads(self.body)
        assert set(document) == {"type", "title", "status", "detail"}
        assert document["status"] == self.status
        assert document["detail"].endswith(".")
        return dict(document)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)


def request(
    port: int, line: str = "GET /", *headers: str, body: bytes = b"", host: str | None = None
) -> bytes:
    """The bytes of a request: `line` without the version, headers as ``Name: value``."""
    host = host or f"127.0.0.1:{port}"
    lines = [f"{line} HTTP/1.1", f"Host: {host}", *headers]
    if body and not any(h.startswith(("Content-Length", "Transfer-Encoding")) for h in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def read_reply(source: socket.socket | BinaryIO, method: str = "GET") -> Reply:
    """The next response on a connection; pass ``sock.makefile("rb")`` to read several.

    Raises
    ------
    ConnectionError
        The server closed without one.
    """
    file = source.makefile("rb") if isinstance(source, socket.socket) else source
    first = file.readline()
    if not first:
        raise ConnectionError("closed without a response")
    headers: dict[str, str] = {}
    while (line := file.readline().decode("latin-1").strip()) != "":
        name, _, value = line.partition(":")
        headers[name.lower()] = ", ".join(filter(None, [headers.get(name.lower()), value.strip()]))
    status = int(first.split()[1])
    bodiless = method == "HEAD" or status in (204, 304)
    body = b"" if bodiless else file.read(int(headers["content-length"]))
    return Reply(status, headers, body)


def send_all(sock: socket.socket, data: bytes) -> bool:
    """False if the other side hung up before it had everything."""
    try:
        sock.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def exchange(port: int, data: bytes, method: str = "GET") -> Reply:
    """Send `data` on a connection of its own and read one response."""
    with connect(port) as sock:
        send_all(sock, data)
        return read_reply(sock, method)


def ask(port: int, line: str = "GET /", *headers: str, **more: Any) -> Reply:
    """`request` and `exchange` in one."""
    return exchange(port, request(port, line, *headers, **more), line.split()[0])


@dataclass
class Event:
    """One server-sent event: its name, its id (None: it has none) and its data as JSON."""

    name: str
    id: str | None
    data: dict[str, Any]


class Stream:
    """A reader of a run's stream; iterate for the events, until the server ends it."""

    def __init__(self, port: int, run_id: str, last_id: str | None = None) -> None:
        self.connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        headers = {"Last-Event-ID": last_id} if last_id is not None else {}
        self.connection.request("GET", f"/api/v1/runs/{run_id}/stream", headers=headers)
        self.response = self.connection.getresponse()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.response.close()
        self.connection.close()

    def __iter__(self) -> Iterator[Event]:
        fields: dict[str, str] = {}
        while line := self.response.readline():
            text = line.decode().rstrip("\n")
            if text:
                name, _, value = text.partition(": ")
                fields[name] = value
            elif fields:
                yield Event(fields["event"], fields.get("id"), json.loads(fields["data"]))
                fields = {}
        assert not fields, "the stream ended in the middle of an event"

# SPDX-License-Identifier: MIT
"""The dashboard: the C server, the files of its page, and the thread that answers its API."""

from __future__ import annotations

import gzip
import hashlib
import ipaddress
import os
import secrets
import threading
from contextlib import suppress
from functools import cache
from html import escape
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Self
from urllib.parse import quote

from locklab import _core
from locklab.doctor import STATIC
from locklab.errors import ConfigError, LocklabError
from locklab.routes import Context, answer
from locklab.runbook import Runbook
from locklab.runs import Handle

RATE_HZ = 10.0
MAX_CLIENTS = 1100
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".png": "image/png",
}
_PLAIN = "text/plain; charset=utf-8"
_MIN_GZIP = 512  # bytes below which compressing gains nothing
_LINGER_S = 1.5
_NICE = 10  # the answering thread must not compete with what is measured

Asset = tuple[str, str, str, bytes, bytes | None]


class Dashboard:
    """A running server with its page; a context manager that stops it at its end.

    Parameters
    ----------
    host, port
        Numeric address or ``"localhost"`` (default: 127.0.0.1), and TCP port; 0 takes a free one.
    token
        Needed off loopback; None: the environment's ``LOCKLAB_TOKEN``, or one is made.
    rate_hz
        Frames a second on each event stream, 1 to 20.
    max_clients
        Connections at a time.

    Attributes
    ----------
    url
        Where the page is, with the token if there is one.
    remarks
        What its operator should know, as sentences: parts missing from this build.

    Raises
    ------
    ConfigError, RunError
        The address cannot be listened on.
    Unsupported
        This build has no server (libmicrohttpd was absent).
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: str | None = None,
        rate_hz: float = RATE_HZ,
        max_clients: int = MAX_CLIENTS,
    ) -> None:
        self.host = host
        self.token = token or os.environ.get("LOCKLAB_TOKEN") or None
        if self.token is None and not _is_loopback(host):
            self.token = secrets.token_urlsafe(24)
        files, self.remarks = assets()
        self._runs = Runbook()
        self._server = _core.Server(
            {
                "host": host,
                "port": port,
                "token": self.token,
                "rate_hz": rate_hz,
                "max_clients": max_clients,
                "assets": files,
            }
        )
        self.port = self._server.port
        self._context = Context(self._runs, self._attach, lambda: dict(self._server.stats()))  # type: ignore[arg-type]
        self._thread = threading.Thread(target=self._answer, name="locklab-web", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Address of the page."""
        query = f"?token={quote(self.token)}" if self.token else ""
        return f"http://{_authority(self.host, self.port)}/{query}"

    def url_of(self, run_id: str) -> str:
        """Address of the page with one run open."""
        return f"{self.url}#run={quote(run_id)}"

    def adopt(self, handle: Handle) -> str:
        """Show a run that was started elsewhere; returns its id."""
        run_id = self._runs.add(handle)
        self._attach(run_id, handle)
        return run_id

    def linger(self) -> None:
        """Give the pages that are open a moment to fetch the end of the last run."""
        deadline = monotonic() + _LINGER_S
        while self._server.stats()["clients"] and monotonic() < deadline:
            sleep(0.05)

    def stop(self) -> None:
        """Stop the runs that it shows, end all streams and free the port."""
        self._runs.stop()
        self._server.stop()
        self._thread.join()

    def _attach(self, run_id: str, handle: Handle) -> None:
        self._server.attach(run_id, handle.core)

    def _answer(self) -> None:
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        while True:
            try:
                request = self._server.next_request()
                if request is None:
                    continue
                number, method, path, body = request
                reply = answer(self._context, method, path, body)
                self._server.answer(
                    number, reply.status, reply.content_type, reply.body, reply.location
                )
            except LocklabError:  # stopped
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def serve(host: str = "127.0.0.1", port: int = 0, *, token: str | None = None) -> Dashboard:
    """Start the dashboard in the background; see :class:`Dashboard`.

    >>> with locklab.serve() as page:
    ...     print(page.url)
    ...     page.adopt(locklab.start("spin/mcs", seconds=10))
    """
    return Dashboard(host, port, token=token)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ConfigError(
            f"{host!r} is neither a numeric address nor localhost", code="EINVAL", field="host"
        ) from None


def _authority(host: str, port: int) -> str:
    if host in ("0.0.0.0", "::"):
        host = os.uname().nodename
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@cache
def assets() -> tuple[tuple[Asset, ...], tuple[str, ...]]:
    """The files of the page for the server, and remarks on what this build lacks."""
    files = sorted(p for p in STATIC.rglob("*") if p.is_file()) if STATIC.is_dir() else []
    found = [_asset(f"/{path.relative_to(STATIC).as_posix()}", path) for path in files]
    remarks = []
    index = next((a for a in found if a[0] == "/index.html"), None)
    if index is None:
        why = (
            "this build has no page (dashboard/static was not collected); the interface under "
            "/api/v1 and /metrics works, `make build` makes the page"
        )
        remarks.append(why)
        text = f"<!doctype html><title>locklab</title><p>locklab: {escape(why)}."
        index = _bytes_asset("/", _TYPES[".html"], text.encode())
    elif not (STATIC / "uPlot.iife.min.js").is_file():
        remarks.append(
            "this build has no charts (uPlot was not fetched); with npm, `make build` adds them"
        )
    found.append(("/", *index[1:]))
    return tuple(found), tuple(remarks)


def _asset(path: str, file: Path) -> Asset:
    return _bytes_asset(path, _TYPES.get(file.suffix, _PLAIN), file.read_bytes())


def _bytes_asset(path: str, content_type: str, body: bytes) -> Asset:
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    packed = gzip.compress(body, mtime=0) if len(body) >= _MIN_GZIP else None
    small = packed if packed is not None and len(packed) < len(body) else None
    return (path, content_type, etag, body, small)

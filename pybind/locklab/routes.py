# SPDX-License-Identifier: MIT
"""What the HTTP interface answers: one row a route, JSON in and out, errors as RFC 9457."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from locklab import catalogue, exposition
from locklab.arguments import WrongType
from locklab.errors import LocklabError, RunError, UnknownName
from locklab.names import suggestion
from locklab.plan import ARGUMENTS, Plan
from locklab.runbook import Busy, Runbook, finished, row
from locklab.runs import Handle

JSON = "application/json"
_PROBLEM = "application/problem+json"
_API = "/api/v1"
_TITLES = {
    400: "Bad request",
    404: "Not found",
    405: "Method not allowed",
    409: "Busy",
    422: "Cannot run this",
    500: "The server failed",
}


@dataclass(frozen=True)
class Reply:
    """An answer: status, media type, body and, for something new, where it is."""

    status: int
    content_type: str
    body: bytes
    location: str | None = None


@dataclass(frozen=True)
class Context:
    """What the routes act on."""

    runs: Runbook
    attach: Callable[[str, Handle], None]
    stats: Callable[[], dict[str, int]]


def answer(context: Context, method: str, target: str, body: bytes) -> Reply:
    """Answer one request; never raises."""
    path = target.partition("?")[0]
    wanted = "GET" if method == "HEAD" else method
    allowed = []
    for route_method, pattern, serve in _ROUTES:
        match = re.fullmatch(pattern, path)
        if match is None:
            continue
        allowed.append(route_method)
        if route_method == wanted:
            try:
                return serve(context, *match.groups(), **({"body": body} if body else {}))
            except LocklabError as error:
                return problem(500, str(error))
    if allowed:
        return problem(405, f"{path} offers {', '.join(allowed)}")
    return problem(404, f"there is nothing at {path}")


def as_json(status: int, content: Any, location: str | None = None) -> Reply:
    """A JSON answer."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Reply(status, JSON, text.encode(), location)


def problem(status: int, detail: str, field: str | None = None) -> Reply:
    """An RFC 9457 problem document; `field` is the member of the body at fault."""
    content: dict[str, Any] = {
        "type": "about:blank",
        "title": _TITLES[status],
        "status": status,
        "detail": detail,
    }
    if field:
        content["field"] = field
    return Reply(status, _PROBLEM, json.dumps(content).encode())


def _list(part: str) -> Callable[..., Reply]:
    def serve(_: Context, body: bytes = b"") -> Reply:
        return as_json(200, catalogue.document(part))

    return serve


def _runs(context: Context, body: bytes = b"") -> Reply:
    return as_json(200, {"runs": [row(*entry) for entry in context.runs.all()]})


def _start(context: Context, body: bytes = b"") -> Reply:
    try:
        wanted = json.loads(body)
    except (ValueError, RecursionError):
        return problem(400, "the body is not JSON")
    if not isinstance(wanted, dict):
        return problem(400, "the body is not a JSON object with the names of locklab.run")
    for name in wanted:
        if name not in ARGUMENTS:
            return problem(422, f"there is no argument {name}{suggestion(name, ARGUMENTS)}", name)
    if "lock" not in wanted:
        return problem(422, "lock is missing", "lock")
    try:
        run_id, handle = context.runs.start(lambda: Handle(Plan.of(**wanted)))
    except Busy as busy:
        return problem(409, str(busy))
    except WrongType as error:
        return problem(422, str(error), error.field)
    except RunError as error:
        return problem(500, str(error))
    except LocklabError as error:
        return problem(422, str(error), error.field)
    context.attach(run_id, handle)
    return as_json(201, {"id": run_id}, f"{_API}/runs/{run_id}")


def _found(context: Context, run_id: str) -> Handle:
    handle = context.runs.get(run_id)
    if handle is None:
        raise UnknownName(f"there is no run {run_id}")
    return handle


def _run(context: Context, run_id: str, body: bytes = b"") -> Reply:
    try:
        handle = _found(context, run_id)
    except UnknownName as error:
        return problem(404, str(error))
    if handle.done:
        return as_json(200, finished(handle) | {"id": run_id})
    content = {
        "id": run_id,
        "status": "running",
        "config": handle.config,
        "snapshot": handle.snapshot(),
    }
    return as_json(200, content)


def _stop(context: Context, run_id: str, body: bytes = b"") -> Reply:
    try:
        handle = _found(context, run_id)
    except UnknownName as error:
        return problem(404, str(error))
    if handle.done:
        return Reply(204, JSON, b"")
    handle.stop()
    return as_json(202, {"id": run_id, "status": "stopping"})


def _metrics(context: Context, body: bytes = b"") -> Reply:
    text = exposition.text(context.runs.newest(), context.stats())
    return Reply(200, exposition.CONTENT_TYPE, text.encode())


_ID = rf"{_API}/runs/([^/]+)"
_ROUTES: tuple[tuple[str, str, Callable[..., Reply]], ...] = (
    ("GET", f"{_API}/locks", _list("locks")),
    ("GET", f"{_API}/workloads", _list("workloads")),
    ("GET", f"{_API}/machines", _list("machines")),
    ("GET", f"{_API}/runs", _runs),
    ("POST", f"{_API}/runs", _start),
    ("GET", _ID, _run),
    ("DELETE", _ID, _stop),
    ("GET", "/metrics", _metrics),
)

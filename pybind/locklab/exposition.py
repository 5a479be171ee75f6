# SPDX-License-Identifier: MIT
"""``GET /metrics``: the newest run and the server, as OpenMetrics 1.0.

Counts of a run under way are those of its current repeat, so they start anew with each; that is
what a counter may do, and what its reader expects of a restarted program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from locklab.runbook import finished
from locklab.runs import Handle

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_OCTAVES = range(4, 40)  # bounds of 16 ns to 9 minutes


def text(newest: tuple[str, Handle] | None, server: dict[str, int]) -> str:
    """The whole exposition, `# EOF` included."""
    lines = list(_server(server))
    if newest:
        lines += _run(*newest)
    return "\n".join([*lines, "# EOF", ""])


def _family(name: str, kind: str, help_: str, unit: str = "") -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {help_}"


def _labels(**labels: object) -> str:
    quoted = (f'{name}="{_escape(str(value))}"' for name, value in labels.items())
    return "{" + ",".join(quoted) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _server(stats: dict[str, int]) -> Iterator[str]:
    for name, key, help_ in (
        ("locklab_http_requests", "requests", "requests that this server has got"),
        ("locklab_http_refused", "refused", "requests refused by its guards"),
        ("locklab_stream_frames_sent", "frames_sent", "frames sent on event streams"),
        ("locklab_stream_frames_lost", "frames_lost", "frames that slow clients lost"),
    ):
        yield from _family(name, "counter", help_)
        yield f"{name}_total {stats[key]}"
    yield from _family("locklab_http_clients", "gauge", "connections that are open")
    yield f"locklab_http_clients {stats['clients']}"
    name = "locklab_http_cpu_seconds"
    yield from _family(name, "counter", "CPU time of the server's thread", "seconds")
    yield f"{name}_total {stats['cpu_ns'] / 1e9:.9g}"


def _run(run_id: str, handle: Handle) -> Iterator[str]:
    plan = handle.plan
    done = handle.done
    if done:
        document = finished(handle)
        acquisitions: list[int] = document["threads"]["acquisitions"]
        overlap = document["overlap"]
    else:
        document = handle.snapshot()
        acquisitions, overlap = document["acquisitions"], document["overlap"]
    about = _labels(
        run=run_id,
        lock=plan.lock,
        workload=plan.workload,
        engine=plan.engine,
        threads=plan.threads,
        seed=plan.seed,
    )
    yield from _family("locklab_run", "info", "what the figures below are about")
    yield f"locklab_run_info{about} 1"
    yield from _family("locklab_run_active", "gauge", "1 while the run goes on")
    yield f"locklab_run_active {0 if done else 1}"
    yield from _family("locklab_acquisitions", "counter", "acquisitions in measured phases")
    for thread, n in enumerate(acquisitions):
        yield f"locklab_acquisitions_total{_labels(lock=plan.lock, thread=thread)} {n}"
    if overlap is not None:
        yield from _family("locklab_overlaps", "counter", "sections that overlapped")
        yield f"locklab_overlaps_total{_labels(lock=plan.lock)} {overlap}"
    for key, name, help_ in (
        ("wait_ns", "locklab_wait_seconds", "from the call of acquire to its return"),
        ("hold_ns", "locklab_hold_seconds", "from the return of acquire to the call of release"),
    ):
        if document[key] is not None and document[key]["count"]:
            yield from _histogram(name, help_, plan.lock, document[key])


def _histogram(name: str, help_: str, lock: str, found: dict[str, Any]) -> Iterator[str]:
    """Bounds are octaves of nanoseconds, which are bounds of the finer buckets, too."""
    yield from _family(name, "histogram", help_, "seconds")
    pairs = list(zip(found["buckets"]["upper"], found["buckets"]["count"], strict=True))
    for octave in _OCTAVES:
        bound = 2**octave
        below = sum(n for upper, n in pairs if upper < bound)
        le = _number((bound - 1) * 1e-9)
        yield f"{name}_bucket{_labels(lock=lock, le=le)} {below}"
    yield f"{name}_bucket{_labels(lock=lock, le='+Inf')} {found['count']}"
    yield f"{name}_sum{_labels(lock=lock)} {_number(found['sum'] * 1e-9)}"
    yield f"{name}_count{_labels(lock=lock)} {found['count']}"


def _number(value: float) -> str:
    assert math.isfinite(value)
    return f"{value:.12g}"

# SPDX-License-Identifier: MIT
"""``python -m locklab.docs [FILE]``: docs/METRICS.md from the schema and the list of events."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from locklab import catalogue, contract, exposition

_HEAD = """<!-- SPDX-License-Identifier: MIT -->
<!-- Made by `python -m locklab.docs docs/METRICS.md`; a test compares. Edit the sources instead:
     clib/metrics/events.def and pybind/locklab/schema/run-1.json. -->
# Metrics

What every figure of a result means. The result document is JSON, schema `locklab.run/1`; its JSON
Schema ships with the package (`locklab/schema/run-1.json`) and `locklab.Result.load` checks it.

## Rules

* **Null, never 0.** {null}
* **Source.** Figures that name no source of their own have the document's `source`: `native` means
  measured by real threads on this host. perf events name theirs: `pmu` (hardware), `perf-sw`
  (kernel software events, kernel included), `rusage`. Figures of different sources never share a
  column.
* **Units** stand in the names: `_ns`, `_s` (seconds), `_per_s`; what has no unit is a count or a
  ratio.
* **Pooling.** All figures cover all repeats; `repeats` keeps each repeat by itself, and intervals
  and comparisons use those samples.
* **Columns.** Tables are objects of equally long lists. `Result.arrays` gives them as buffers
  without a copy, by the same path.

## Identities

They hold in every document; `locklab.Result.load` refuses one in which they do not, and
`Result.invariants()` lists those that do not hold.

* `threads.acquisitions` add up to `total.acquisitions`; so do `repeats[].acquisitions`.
* `repeats[].seconds` add up to `total.seconds`.
* `wait_ns.count` = `hold_ns.count` = `total.acquisitions` under `--metrics full`.
* The buckets of a histogram add up to its `count`, and its percentiles ascend.
* `handoff_matrix.count` adds up to `handoff_ns.count`.

## Histograms

Log-linear: values 0 to 63 exactly, then 32 buckets an octave, so a bucket is at most 1/32 wider
than its lower bound, and a percentile at most that much too large. `mean`, `sum` and `max` are
exact. The clock has steps of its own (`environment.observed.clock.step_ns`): do not trust a
percentile of a few steps; the mean of many readings is finer.

"""


def text() -> str:
    """The whole of docs/METRICS.md."""
    schema = contract.schema()
    null = schema["description"].partition(". ")[2].partition(" Unknown")[0]
    parts = [_HEAD.format(null=null), "## Members of the document\n\n"]
    parts += ["| member | type | meaning |\n", "|---|---|---|\n"]
    parts += [f"| `{path}` | {type_} | {meaning} |\n" for path, type_, meaning in members(schema)]
    parts.append(
        "\nHistograms (`wait_ns`, `hold_ns`, `handoff_ns`, `wake_ns`, `bypass`, `run_length`) have "
        "these:\n\n"
    )
    parts += ["| member | type | meaning |\n", "|---|---|---|\n"]
    parts += [
        f"| `{path}` | {type_} | {meaning} |\n"
        for path, type_, meaning in _below("", schema["$defs"]["histogram"]["anyOf"][1], schema)
    ]
    parts.append("\n## Events\n\nCounters in `events`, in the order of reports.\n\n")
    parts += ["| event | unit | counts |\n", "|---|---|---|\n"]
    parts += [f"| `{e['name']}` | {e['unit']} | {e['help']} |\n" for e in catalogue.events()]
    parts.append(_EXPOSED.format(media=exposition.CONTENT_TYPE))
    return "".join(parts)


_EXPOSED = """
## `GET /metrics`

The newest run of a server as `{media}`.

| family | type | labels |
|---|---|---|
| `locklab_run_info` | info | `run`, `lock`, `workload`, `engine`, `threads`, `seed` |
| `locklab_run_active` | gauge | |
| `locklab_acquisitions_total` | counter | `lock`, `thread`; starts anew with each repeat |
| `locklab_overlaps_total` | counter | `lock` |
| `locklab_wait_seconds`, `locklab_hold_seconds` | histogram | `lock`, `le`: octaves of 1 ns |
| `locklab_http_requests_total`, `locklab_http_refused_total` | counter | |
| `locklab_http_clients` | gauge | |
| `locklab_http_cpu_seconds_total` | counter | |
| `locklab_stream_frames_sent_total`, `locklab_stream_frames_lost_total` | counter | |
"""


def members(schema: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Every member of the document as (path, type, meaning), those of histograms apart."""
    yield from _below("", schema, schema)


def _below(
    prefix: str, node: dict[str, Any], schema: dict[str, Any]
) -> Iterator[tuple[str, str, str]]:
    for part in node.get("allOf", ()):  # what its own members are added to
        shared = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        yield from _below(prefix, shared, schema)
    for name, child in node.get("properties", {}).items():
        yield from _member(f"{prefix}{name}", child, schema)
    extra = node.get("additionalProperties")
    if isinstance(extra, dict) and extra.get("properties"):
        yield from _below(f"{prefix}NAME.", extra, schema)


def _member(
    path: str, node: dict[str, Any], schema: dict[str, Any]
) -> Iterator[tuple[str, str, str]]:
    yield path, _type(node, schema), node["description"].replace("|", "\\|")
    for form in (node, *node.get("anyOf", ())):
        yield from _below(f"{path}.", form, schema)
        yield from _below(f"{path}[].", form.get("items", {}), schema)


def _type(node: dict[str, Any], schema: dict[str, Any]) -> str:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return "histogram or null" if name == "histogram" else _type(schema["$defs"][name], schema)
    if "allOf" in node:
        return _type(node["allOf"][0], schema)
    if "anyOf" in node:
        return " or ".join(_type(form, schema) for form in node["anyOf"])
    if "enum" in node:
        return " or ".join(f"`{word}`" for word in node["enum"])
    if "const" in node:
        return f"`{node['const']}`"
    types = node["type"] if isinstance(node["type"], list) else [node["type"]]
    named = []
    for type_ in types:
        items = node.get("items")
        of = _type(items, schema) if type_ == "array" and items else ""
        named.append(f"{type_} of ({of})" if " or " in of else f"{type_} of {of}" if of else type_)
    return " or ".join(named)


def main(words: Sequence[str] | None = None) -> int:
    """Write the text to the file named, or to stdout."""
    names = sys.argv[1:] if words is None else list(words)
    if names:
        Path(names[0]).write_text(text(), encoding="utf-8")
    else:
        sys.stdout.write(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())

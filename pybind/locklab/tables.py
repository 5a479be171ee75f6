# SPDX-License-Identifier: MIT
"""Data frames and figures of a document (extras ``[data]`` and ``[plot]``)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from locklab.errors import Unsupported

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

Document = dict[str, Any]

_LABELS = {"wait_ns": "wait", "hold_ns": "hold", "handoff_ns": "hand-off", "wake_ns": "wake"}
_DASHES = ("-", "--", "-.", ":")


def need(module: str, extra: str, what: str) -> Any:
    """Import an optional module.

    Raises
    ------
    Unsupported
        It is not installed; the message names the extra of locklab that brings it.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise Unsupported(
            f"{what} needs {package}: pip install 'locklab[{extra}]'", code="ENOTSUP"
        ) from None


def frame(document: Document, table: str) -> pandas.DataFrame:
    """See :meth:`locklab.Result.to_pandas`."""
    pandas = need("pandas", "data", "to_pandas")
    content = document[table]
    if content is None:
        why = document.get("reasons", {}).get(table, "no reason given")
        raise Unsupported(f"{table} was not measured: {why}", field=table)
    if table == "threads":
        columns = {name: column for name, column in content.items() if isinstance(column, list)}
        made = pandas.DataFrame(columns)
        made.index.name = "thread"
    elif table == "repeats":
        made = pandas.DataFrame(content).set_index("index")
        for i, side in enumerate(("regime_before_ns", "regime_after_ns")):
            made[side] = [repeat["regime_ns"][i] for repeat in content]
        made = made.drop(columns=["regime_ns", "thread_acquisitions"], errors="ignore")
    elif table == "series":
        index = pandas.Index(content["t_s"], name="t_s")
        threads = pandas.RangeIndex(document["config"]["threads"], name="thread")
        made = pandas.DataFrame(content["rate_per_s"], index=index, columns=threads)
    else:
        made = pandas.DataFrame(content["buckets"])
    return made


def figure(document: Document) -> matplotlib.figure.Figure:
    """See :meth:`locklab.Result.plot`; needs no display."""
    figures = need("matplotlib.figure", "plot", "plot")
    config, series = document["config"], document["series"]
    made: matplotlib.figure.Figure = figures.Figure(figsize=(10, 4), layout="constrained")
    left, right = made.subplots(1, 2)
    for thread in range(config["threads"]):
        column = [row[thread] for row in series["rate_per_s"]]
        left.plot(series["t_s"], column, _DASHES[thread % 4], label=f"thread {thread}")
    left.set(xlabel="time (s)", ylabel="acquisitions per second", ylim=(0, None))
    left.set_title(f"{config['lock']}, {config['workload']}")
    if config["threads"] <= 16 and series["t_s"]:
        left.legend(fontsize="small")
    for dash, (name, label) in enumerate(_LABELS.items()):
        found = document[name]
        if found is None or not found["count"]:
            continue
        below, shares = 0, []
        for n in found["buckets"]["count"]:
            below += n
            shares.append(1 - below / found["count"])
        right.step(found["buckets"]["upper"], shares, _DASHES[dash], where="post", label=label)
    right.set(xlabel="time (ns)", ylabel="share of samples that took longer")
    right.set_xscale("symlog", linthresh=10)
    right.set_yscale("log")
    if right.get_legend_handles_labels()[0]:
        right.legend(fontsize="small")
    return made

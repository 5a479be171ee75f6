# SPDX-License-Identifier: MIT
"""What the figures of a document mean for its reader, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from locklab.catalogue import lock_of, may_overlap
from locklab.stats import spread
from locklab.units import count, ns, percent

Document = dict[str, Any]

REGIME_FACTOR = 1.5  # round trips that differ more are another placement of the CPUs
SPREAD_LIMIT = 0.10
_DOING = {"holding": "holders", "spinning": "spinning waiters", "queued": "queued waiters"}
_COLLAPSE_NS = 100e3  # a mean wait that is no collapse, whatever the section
_COLLAPSE_FACTOR = 20
_LONG_WAIT_NS = 1e6
_STEPS = 3  # times shorter than so many clock steps are not resolved


def findings(document: Document) -> list[str]:
    """Everything worth saying about a result, most serious first."""
    return [
        text
        for find in (
            _failure,
            _overlap,
            _preemption,
            _regime,
            _spread,
            _unfair,
            _log,
            _multiplexed,
            _load,
            _resolution,
        )
        for text in find(document)
    ]


def expected_overlap(document: Document) -> bool:
    """Whether the lock's descriptor says that it does not exclude."""
    return may_overlap(document["config"]["lock"])


def crowd(document: Document) -> tuple[int, int]:
    """How many threads there are, and on how many CPUs."""
    cpus = document["threads"]["cpu"]
    return len(cpus), len(set(cpus))


def crowd_warning(threads: int, cpus: int) -> str | None:
    """What to expect of more threads than CPUs, or None."""
    if threads <= cpus:
        return None
    plural = "s" if cpus != 1 else ""
    return (
        f"{threads} threads share {cpus} CPU{plural}: holders and waiters will lose their CPU to "
        "each other, and that decides the result more than the lock does"
    )


def _failure(d: Document) -> Iterator[str]:
    if "failure" in d:
        yield (
            f"The run {'hung' if d['failure']['kind'] == 'hung' else 'failed'}: "
            + d["failure"]["text"]
        )
    elif d["status"] == "interrupted":
        yield "The run was interrupted: the figures are those until then."


def _overlap(d: Document) -> Iterator[str]:
    if not d["overlap"]:
        return
    if expected_overlap(d):
        yield (
            f"{count(d['overlap'])} sections overlapped, as they must: "
            f"{d['config']['lock']} does not exclude, on purpose."
        )
    else:
        yield (
            f"EXCLUSION VIOLATED: {count(d['overlap'])} sections overlapped under "
            f"{d['config']['lock']}, which promises to exclude."
        )


def _preemption(d: Document) -> Iterator[str]:
    """Name the cause where threads lost their CPU inside the lock."""
    threads, cpus = crowd(d)
    crowded = crowd_warning(threads, cpus)
    lost = _lost_inside(d)
    longest = (d["wait_ns"] or {}).get("max")
    if not lost:
        if crowded:
            yield crowded[0].upper() + crowded[1:] + "."
        return
    if not crowded and (longest or 0) < _LONG_WAIT_NS:
        return
    whose = crowded.partition(":")[0] if crowded else "other programs took CPUs"
    wait = f"; the longest wait was {ns(longest)}" if longest else ""
    head = "Collapse, caused by preemption" if collapsed(d) else "Preemption"
    text = f"{head}: {whose}, and {lost}{wait}."
    yield text + (_queue_word(d) if crowded else "")


def _claims(d: Document) -> set[str]:
    entry = lock_of(d["config"]["lock"])
    return set(entry["claims"]) if entry else set()


def collapsed(d: Document) -> bool:
    """Whether waits are so long that only waiting for a CPU explains them.

    In a queue of all threads a wait takes as many sections and hand-overs as there are threads.
    """
    wait, hold = d["wait_ns"], d["hold_ns"]
    if not (wait and hold and wait["count"]):
        return False
    longest = _COLLAPSE_FACTOR * len(d["threads"]["cpu"]) * hold["mean"]
    return bool(wait["mean"] > max(longest, _COLLAPSE_NS))


def _lost_inside(d: Document) -> str | None:
    """How often a holder or waiter lost its CPU, and how we know; None if never."""
    total = count(d["total"]["acquisitions"])
    lost = [d["events"].get(f"preempted_while_{doing}") for doing in _DOING]
    if lost[0] is not None:
        named = [f"{count(n)} {who}" for n, who in zip(lost, _DOING.values(), strict=True) if n]
        if not named:
            return None
        who = ", ".join(named[:-1]) + (" and " if len(named) > 1 else "") + named[-1]
        return f"{who} lost their CPU inside the lock (rseq marker) in {total} acquisitions"
    switches = sum(d["threads"].get("involuntary_switches") or [])
    if not switches:
        return None
    return (
        f"the threads lost their CPU {count(switches)} times (involuntary context switches) in "
        f"{total} acquisitions"
    )


def _queue_word(d: Document) -> str:
    claims = _claims(d)
    if {"queues", "fifo"} & claims and "parks" not in claims:
        return (
            f" {d['config']['lock']} serves its waiters in order: whenever the next one is not on "
            "a CPU, all wait until the scheduler runs it. It does so by nature, it does not hang."
        )
    if d["events"].get("preempted_while_queued"):
        return (
            " A spinner that loses its CPU in the queue holds up all behind it "
            "(preempted_while_queued)."
        )
    return ""


def _regime(d: Document) -> Iterator[str]:
    trips = [ns_ for repeat in d["repeats"] for ns_ in repeat["regime_ns"] if ns_]
    if trips and max(trips) > REGIME_FACTOR * min(trips):
        moved = sum(
            1
            for before, after in (r["regime_ns"] for r in d["repeats"])
            if before and after and max(before, after) > REGIME_FACTOR * min(before, after)
        )
        yield (
            f"The placement regime changed: a word's round trip between the CPUs was "
            f"{ns(min(trips))} to {ns(max(trips))} ({moved} of {len(d['repeats'])} repeats saw it "
            "change). Compare only repeats of one regime."
        )


def _spread(d: Document) -> Iterator[str]:
    rates = [r["rate_per_s"] for r in d["repeats"] if r["rate_per_s"] is not None]
    found = spread(rates)
    if found is not None and found > SPREAD_LIMIT:
        yield (
            f"The {len(rates)} repeats scatter by {percent(found)} (standard deviation / mean, "
            f"more than {percent(SPREAD_LIMIT)}): take more repeats before you conclude."
        )


def _unfair(d: Document) -> Iterator[str]:
    ratio = d["fairness"]["max_over_min"]
    counts = d["threads"]["acquisitions"]
    if ratio is None and any(counts):
        idle = sum(1 for n in counts if n == 0)
        yield f"Starvation: {idle} of {len(counts)} threads acquired the lock not once."
    elif ratio is not None and ratio > 2:
        yield f"Unfair: the most served thread acquired {ratio:.1f} times as often as the least."


def _log(d: Document) -> Iterator[str]:
    dropped = d.get("handoff_log", {}).get("dropped_windows", 0)
    if dropped:
        yield (
            f"{count(dropped)} windows of the hand-off log were thrown away because it was full; "
            "the hand-off figures are those of the others."
        )


def _multiplexed(d: Document) -> Iterator[str]:
    for name, row in d["perf"].items():
        if row["running_ratio"] is not None and row["running_ratio"] < 0.999:
            yield (
                f"{name} was counted {percent(row['running_ratio'])} of the time (too many events "
                "for the PMU): its value is an estimate."
            )


def _load(d: Document) -> Iterator[str]:
    load = d["environment"]["observed"]["load_average"]
    cpus = d["environment"]["identity"]["topology"]["cpus"]
    if load and load[0] > cpus:
        yield f"Others were at work: load average {load[0]:.1f} on {cpus} CPUs before the start."


def _resolution(d: Document) -> Iterator[str]:
    step = d["environment"]["observed"]["clock"].get("step_ns") or 0
    fine = [
        label
        for name, label in (("wait_ns", "wait"), ("hold_ns", "hold"), ("handoff_ns", "hand-off"))
        if d[name] and d[name]["p50"] is not None and d[name]["p50"] < _STEPS * step
    ]
    if fine:
        yield (
            f"The clock steps by {step} ns: the median of {' and '.join(fine)} is not resolved, "
            "the mean is."
        )

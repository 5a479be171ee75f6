# SPDX-License-Identifier: MIT
"""The human view of a result document: which tables, which rows."""

from __future__ import annotations

from statistics import median
from typing import Any

from locklab import validation
from locklab.document import HISTOGRAMS
from locklab.errors import Unsupported
from locklab.explain import findings
from locklab.plan import resolved_params
from locklab.render import Notes, Part, Table
from locklab.stats import MIN_INTERVAL, median_interval
from locklab.units import NONE, count, ns, per_minute, percent, rate, ratio, seconds, settings

Document = dict[str, Any]

_MAX_THREAD_ROWS = 32
_MAX_PARAMS = 6
_LABELS = dict(zip(HISTOGRAMS, ("wait", "hold", "hand-off", "wake"), strict=True))


def tables(document: Document) -> list[Part]:
    """All that ``locklab run`` prints about a document, in order."""
    parts: list[Part] = [
        Notes("", [heading(document)]),
        _figures(document),
        *_times(document),
        *_turns(document),
        *_locks(document),
        *_transactions(document),
        _threads(document),
        *_events(document),
        *_perf(document),
        *_waiters(document),
        *_validation(document),
    ]
    for title, lines in (
        ("not measured", _not_measured(document)),
        ("notes", findings(document)),
    ):
        if lines:
            parts.append(Notes(title, lines))
    return parts


def heading(document: Document) -> str:
    """One line that says what was run."""
    config = document["config"]
    cpus = sorted(set(document["threads"]["cpu"]))
    where = "CPU " if len(cpus) == 1 else "CPUs "
    threads = f"{config['threads']} thread{'s' if config['threads'] != 1 else ''}"
    return (
        f"{config['lock']}  {config['workload']} ({_params(config)})  "
        f"{threads} on {where}{_ranges(cpus)}  "
        f"{len(document['repeats'])} x {seconds(config['seconds'])}  "
        f"source {document['source']}"
    )


def _params(config: Document) -> str:
    """The parameters; of many only those that are not at their defaults."""
    params = config["params"]
    if len(params) <= _MAX_PARAMS:
        return settings(params)
    usual = resolved_params(config["lock"], config["workload"], ())
    set_ = {name: value for name, value in params.items() if usual.get(name) != value}
    rest = f"{len(params) - len(set_)} parameters at their defaults"
    return ", ".join(filter(None, (settings(set_), rest)))


def _ranges(cpus: list[int]) -> str:
    """Sorted numbers as ``0-3,8``."""
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], cpu]
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def repeats_word(rates: list[float]) -> str:
    """The median of the repeats and how sure it is: an interval, or the range if they are few."""
    if len(rates) < 2:
        return "one repeat"
    middle = f"median of {len(rates)} repeats {rate(median(rates))}"
    if len(rates) >= MIN_INTERVAL:
        try:
            interval = median_interval(rates)
        except Unsupported as error:
            return f"{middle}; no interval: {error}"
        if interval:
            return f"{middle}, 95% interval {rate(interval[0])} .. {rate(interval[1])}"
    return f"{middle}, from {rate(min(rates))} to {rate(max(rates))}"


def _figures(d: Document) -> Table:
    total, fair = d["total"], d["fairness"]
    rates = [r["rate_per_s"] for r in d["repeats"] if r["rate_per_s"] is not None]
    fair_word = f"cov {ratio(fair['cov'])}, most / least served {ratio(fair['max_over_min'])}"
    rows = [
        ("rate", rate(total["rate_per_s"]), total.get("reason") or repeats_word(rates)),
        ("acquisitions", count(total["acquisitions"]), f"in {seconds(total['seconds'])}"),
        ("fairness", ratio(fair["jain"]), f"Jain's index; {fair_word}"),
        ("overlap", count(d["overlap"]), _overlap_word(d)),
    ]
    shared = total.get("shared_acquisitions")
    if shared:
        rows.insert(2, ("shared", count(shared), "acquisitions in shared mode"))
    jobs = d.get("jobs")
    if jobs:
        rows.insert(2, ("jobs", per_minute(jobs["per_min"]), f"{count(jobs['count'])} in all"))
    known = d.get("derived", {})
    for name, label, show, remark in (
        ("idle_share", "idle", percent, "share of the CPUs used that its threads left"),
        ("rmw_per_acquisition", "RMWs", ratio, "on the lock's counter, per acquisition"),
        ("acquisitions_per_handoff", "in a row", ratio, "acquisitions for each hand-off, mean"),
        (
            "queue_over_owner",
            "queue / owner",
            ratio,
            "time of spinners in the queue / on the owner",
        ),
    ):
        if known.get(name) is not None:
            rows.append((label, show(known[name]), remark))
    if "overhead" in d:
        rows.append(("overhead", ratio(d["overhead"]["ratio"]), _overhead_word(d["overhead"])))
    return Table("", ("figure", ">value", "remark"), rows)


def _overlap_word(d: Document) -> str:
    if d["overlap"] is None:
        return "not checked: " + str(d.get("reasons", {}).get("overlap", "no reason given"))
    return "exclusion violations seen by the workload"


def _overhead_word(overhead: dict[str, Any]) -> str:
    low, high = overhead["interval"]
    pairs = f"{count(overhead['pairs'])} pairs of blocks"
    if low is None:
        why = overhead.get("reasons", {})
        return f"bare / instrumented; {why.get('ratio') or why.get('interval')}"
    return f"bare / instrumented rate, 95% interval {low:.3f} .. {high:.3f}, {pairs}"


def _turns(d: Document) -> list[Part]:
    rows = []
    log = d.get("handoff_log", {})
    for key, label in (("bypass", "bypassed by"), ("run_length", "short runs")):
        found = d.get(key)
        if found and found["count"]:
            most = max(found["max"], log.get("bypass_max", 0)) if key == "bypass" else found["max"]
            marks = (found["mean"], found["p50"], found["p90"], found["p99"], most)
            rows.append((label, *(count(m) for m in marks), count(found["count"])))
    columns = ("acquisitions", ">mean", ">p50", ">p90", ">p99", ">max", ">samples")
    return [Table("", columns, rows)] if rows else []


def _locks(d: Document) -> list[Part]:
    groups = d.get("locks", [])
    if len(groups) < 2:
        return []
    rows = [
        (
            g["name"],
            g["lock"],
            count(g["count"]),
            count(g["acquisitions"]),
            *(_mean_ns(g[k], g["acquisitions"]) for k in ("wait_ns", "hold_ns")),
            ns(g["wait_max_ns"]),
            NONE if g["wait_share"] is None else percent(g["wait_share"]),
            "yes" if g["counted"] else "no",
        )
        for g in groups
    ]
    columns = ("locks", "lock", ">instances", ">acquisitions", ">mean wait", ">mean hold")
    return [Table("", (*columns, ">longest wait", ">share of waits", "in totals"), rows)]


def _transactions(d: Document) -> list[Part]:
    found = d.get("transactions") or {}
    marks = ("mean", "p50", "p90", "p99", "max", "count")
    labels = {
        "backoff_depth": "locks released by a back-off",
        "restarts": "restarts of a transaction",
        "age": "stamps drawn since its own",
    }
    rows = [
        (label, *(count(found[key][m]) for m in marks))
        for key, label in labels.items()
        if found.get(key) and found[key]["count"]
    ]
    columns = ("transactions", ">mean", ">p50", ">p90", ">p99", ">max", ">samples")
    return [Table("", columns, rows)] if rows else []


def _mean_ns(total: int | None, n: int | None) -> str:
    return ns(total / n if total is not None and n else None)


def _times(d: Document) -> list[Part]:
    rows = []
    for key, label in _LABELS.items():
        found = d[key]
        if found is not None and found["count"]:
            marks = (found[k] for k in ("mean", "p50", "p90", "p99", "p999", "max"))
            rows.append((label, *(ns(m) for m in marks), count(found["count"])))
    columns = ("time", ">mean", ">p50", ">p90", ">p99", ">p99.9", ">max", ">samples")
    return [Table("", columns, rows)] if rows else []


def _not_measured(d: Document) -> list[str]:
    """What the tables leave out or cover in part, with the reasons."""
    reasons = d.get("reasons", {})
    lines = []
    for key, label in _LABELS.items():
        found = d[key]
        if found is None or not found["count"]:
            lines.append(f"{label}: {reasons.get(key) or (found or {}).get('reason')}")
    sampled = d.get("handoff_log", {}).get("sampled_ratio", 1.0)
    if sampled < 0.999 and d["handoff_ns"] and d["handoff_ns"]["count"]:
        lines.append(f"hand-off: logged {percent(sampled)} of the time, to keep the log cheap")
    absent = [name for name, n in d["events"].items() if n is None]
    if absent:
        why = reasons.get(f"events.{absent[0]}", "no reason given")
        named = ", ".join(absent) if len(absent) < len(d["events"]) else "all"
        lines.append(f"events ({named}): {why}")
    lines += [
        f"{name}: {with_errno(row)}" for name, row in d["perf"].items() if row["value"] is None
    ]
    return lines


def _threads(d: Document) -> Table:
    t, total = d["threads"], d["total"]["acquisitions"]
    shown = min(len(t["acquisitions"]), _MAX_THREAD_ROWS)
    longest = t["wait_max_ns"] or [None] * len(t["cpu"])
    switches = t.get("involuntary_switches") or [None] * len(t["cpu"])
    rows: list[tuple[str, ...]] = [
        (
            str(i),
            str(t["cpu"][i]),
            count(t["acquisitions"][i]),
            rate(t["rate_per_s"][i]),
            percent(t["acquisitions"][i] / total) if total else NONE,
            ns(longest[i]),
            count(switches[i]),
        )
        for i in range(shown)
    ]
    if shown < len(t["cpu"]):
        rows.append((f"and {len(t['cpu']) - shown} more", *[""] * 6))
    columns = (">thread", ">CPU", ">acquisitions", ">rate", ">share", ">longest wait", ">CPU lost")
    return Table("", columns, rows)


def _events(d: Document) -> list[Part]:
    total = d["total"]["acquisitions"]
    rows = [
        (name, count(n), f"{n / total:.3g}" if total else NONE)
        for name, n in d["events"].items()
        if n
    ]
    return [Table("", ("event", ">count", ">per acquisition"), rows)] if rows else []


def _perf(d: Document) -> list[Part]:
    rows = []
    for name, row in d["perf"].items():
        if row["value"] is None:
            continue
        time = ns if row["unit"] == "ns" else count
        per = row["per_acquisition"]
        each = NONE if per is None else f"{per:.4g}"
        rows.append((name, time(row["value"]), each, percent(row["running_ratio"]), row["source"]))
    columns = ("perf event", ">value", ">per acquisition", ">counted", "source")
    return [Table("", columns, rows)] if rows else []


def with_errno(entry: dict[str, Any]) -> str:
    """The `reason` of an entry after its `errno`, unless it begins with that already."""
    reason, name = entry.get("reason", "no reason given"), entry.get("errno")
    return reason if not name or reason.startswith(name) else f"{name}: {reason}"


def _validation(d: Document) -> list[Part]:
    if "validation" not in d:
        return []
    found = d["validation"]
    parts: list[Part] = [Notes("", [f"validator: {validation.summary(found)}"])]
    return parts + [Notes("", validation.lines(report)) for report in found["reports"]]


def _waiters(d: Document) -> list[Part]:
    if "waiters" not in d:
        return []
    rows = []
    for w in d["waiters"]:
        what = ".".join(filter(None, (w["object"], w["field"])))
        place = f"{w['file']}:{w['line']}" if w["file"] else ""
        row = (str(w["thread"]), str(w["cpu"]), w["state"], what, place, seconds(w["since_s"]))
        rows.append(row)
    columns = (">thread", ">CPU", "state", "on", "source", ">since")
    return [Table("who waits where", columns, rows)]

# SPDX-License-Identifier: MIT
"""``python -m locklab.demo`` (``make demo``): eight locks compete, live on a page and in a table.

The rounds are interleaved: every lock runs once a round, every second round backwards, so that a
slow drift of the machine falls on all alike.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from locklab import _core, comparison, pooling
from locklab.comparison import Comparison
from locklab.errors import LocklabError, Unsupported
from locklab.render import Notes, Table, show
from locklab.report import repeats_word
from locklab.result import Result
from locklab.runs import run, start
from locklab.stats import median_interval, need_scipy
from locklab.units import count, figures, ns, rate, ratio
from locklab.web import Dashboard

LOCKS = (
    "spin/tas",
    "spin/ttas",
    "spin/ttas-backoff",
    "spin/ticket",
    "spin/mcs",
    "spin/clh",
    "host/pthread-mutex",
    "host/pthread-adaptive",
)
FAMILIAR = "host/pthread-mutex"
CONTROL = "spin/none"
PATIENCE_S = 30.0  # on a busy machine a thread may wait long for a CPU
ROUNDS, REPEATS, SECONDS = 3, 3, 0.3  # 8 locks x 9 samples: about 30 s


def main(words: Sequence[str] | None = None) -> int:
    """Run the demonstration; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m locklab.demo", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="of the live page (default: any)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each repeat")
    parser.add_argument("--out", type=Path, default=Path("results/demo"), help="for the documents")
    args = parser.parse_args(words)
    try:
        _demo(args.port, args.seconds, args.out)
    except OSError as error:
        print(f"locklab demo: cannot write to {args.out}: {error.strerror}", file=sys.stderr)
        return 2
    except LocklabError as error:
        print(f"locklab demo: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("locklab demo: interrupted", file=sys.stderr)
        return 130
    return 0


def _demo(port: int, seconds: float, out: Path) -> None:
    need_scipy("the demonstration")
    out.mkdir(parents=True, exist_ok=True)
    threads = max(2, min(4, len(_core.cpus())))
    print(
        f"locklab: {len(LOCKS)} locks, {threads} threads, {ROUNDS} rounds of {REPEATS} repeats of "
        f"{seconds:g} s\n"
    )
    with ExitStack() as stack:
        page = _open_page(stack, port)
        results = {lock: [] for lock in LOCKS}  # type: dict[str, list[Result]]
        for number in range(ROUNDS):
            for lock in LOCKS if number % 2 == 0 else LOCKS[::-1]:
                _say(f"round {number + 1} of {ROUNDS}: {lock}")
                results[lock].append(_measure(lock, threads, seconds, page))
        _say(f"negative control: {CONTROL}")
        control = run(CONTROL, threads=threads, seconds=seconds, params={"section_ns": 2000})
        _say("")
        if page:
            page.linger()
    pooled = {lock: pooling.merge(parts) for lock, parts in results.items()}
    for lock, result in pooled.items():
        result.save(out / f"{lock.replace('/', '-')}.json")
    show(
        [_table(pooled), Notes("what it says", [*conclusions(pooled), _control(control)])],
        sys.stdout,
    )
    print(
        f"\nThe documents are in {out}/. To compare two of them:\n"
        f"  locklab compare {out}/host-pthread-mutex.json {out}/spin-mcs.json"
    )


def _open_page(stack: ExitStack, port: int) -> Dashboard | None:
    try:
        page = stack.enter_context(Dashboard(port=port))
    except Unsupported as error:
        print(f"No live page: {error}.\n")
        return None
    for line in page.remarks:
        print(line)
    print(f"Watch it live: {page.url}\n", flush=True)
    return page


def _say(text: str) -> None:
    """Progress on one line of the terminal, or nothing."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _measure(lock: str, threads: int, seconds: float, page: Dashboard | None) -> Result:
    handle = start(
        lock, threads=threads, seconds=seconds, repeat=REPEATS, warmup_s=0.05, watchdog_s=PATIENCE_S
    )
    if page:
        page.adopt(handle)
    with handle:
        return handle.result()


def _rates(result: Result) -> list[float]:
    return [repeat["rate_per_s"] for repeat in result["repeats"]]


def _table(pooled: dict[str, Result]) -> Table:
    ranked = sorted(pooled.items(), key=lambda item: -median(_rates(item[1])))
    rows = []
    for lock, result in ranked:
        interval = median_interval(_rates(result))
        wait, handoff = result["wait_ns"], result["handoff_ns"]
        rows.append(
            (
                lock,
                rate(median(_rates(result))),
                f"{rate(interval[0])} .. {rate(interval[1])}" if interval else "-",
                ratio(result["fairness"]["jain"]),
                ns(wait["p50"]),
                ns(wait["p99"]),
                ns(wait["max"]),
                ns(handoff["p50"]) if handoff else "-",
                count(result.overlap),
            )
        )
    columns = (
        "lock", ">median rate", ">95% interval", ">fairness", ">wait p50", ">p99", ">max",
        ">hand-off p50", ">overlap",
    )  # fmt: skip
    return Table("critical-section, 200 ns inside, 400 ns outside", columns, rows)


def conclusions(pooled: dict[str, Result]) -> list[str]:
    """One sentence a finding, each with its evidence."""
    ranked = sorted(pooled, key=lambda lock: -median(_rates(pooled[lock])))
    best = ranked[0]
    found = [f"Fastest at the median: {best}, {repeats_word(_rates(pooled[best]))}."]
    against = {lock: comparison.compare(pooled[lock], pooled[best]) for lock in ranked[1:]}
    level = [lock for lock, c in against.items() if c.verdict == "same"]
    if level:
        found.append(f"Not distinguishable from it within the noise: {', '.join(level)}.")
    if best != FAMILIAR:
        found.append(_against_familiar(best, against[FAMILIAR]))
    fair = {lock: pooled[lock]["fairness"]["jain"] for lock in ranked}
    least = min(fair, key=lambda lock: fair[lock])
    most = max(fair, key=lambda lock: fair[lock])
    found.append(
        f"Least even: {least} (Jain's index {fair[least]:.3f}); most even: {most} "
        f"({fair[most]:.3f})."
    )
    tails = {lock: pooled[lock]["wait_ns"]["p99"] for lock in ranked}
    short = min(tails, key=lambda lock: tails[lock])
    long = max(tails, key=lambda lock: tails[lock])
    found.append(
        f"99 of 100 waits take at most {ns(tails[short])} under {short}, {ns(tails[long])} under "
        f"{long}."
    )
    trips = [t for r in pooled.values() for x in r["repeats"] for t in x["regime_ns"] if t]
    if trips and max(trips) > 1.5 * min(trips):
        found.append(
            f"The machine changed under us: a word went between the CPUs and back in "
            f"{ns(min(trips))} to {ns(max(trips))}; the intervals show what that does."
        )
    found += _disturbance(pooled)
    broken = [lock for lock in ranked if pooled[lock].overlap]
    found.append(
        f"EXCLUSION VIOLATED by {', '.join(broken)}."
        if broken
        else "Every lock excluded: never were two threads inside at once."
    )
    return found


def _disturbance(pooled: dict[str, Result]) -> list[str]:
    load = max((r["environment"]["observed"]["load_average"] or [0])[0] for r in pooled.values())
    cpus = len(_core.cpus())
    lost = {
        doing: sum(r["events"][f"preempted_while_{doing}"] or 0 for r in pooled.values())
        for doing in ("holding", "spinning", "queued")
    }
    if load <= cpus:
        return []
    return [
        f"Other programs were at work (load average {load:.1f} on {cpus} CPUs): "
        f"{count(lost['holding'])} holders, {count(lost['spinning'])} spinning and "
        f"{count(lost['queued'])} queued waiters lost their CPU to them, which hurts the locks "
        "that serve in order most."
    ]


def _against_familiar(best: str, found: Comparison) -> str:
    if found.interval is None or found.ratio is None:
        return f"{best} against {FAMILIAR}: {found.verdict}, without an interval."
    low, high = found.interval
    return (
        f"{best} runs at {figures(found.ratio)} times the rate of {FAMILIAR} (95% interval "
        f"{figures(low)} .. {figures(high)}, Mann-Whitney p = {found.p:.2g}): {found.verdict}."
    )


def _control(control: Result) -> str:
    seen, sections = count(control.overlap), count(control.acquisitions)
    if not control.overlap:
        return f"The check proves nothing here: it saw no overlap even under {CONTROL}."
    return (
        f"The check works: under {CONTROL}, which lets everybody in, it saw {seen} overlaps in "
        f"{sections} sections."
    )


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""What watching costs: CPU of the server's thread, and the effect on the run that is watched."""

from __future__ import annotations

import time
from typing import Any

from common import Effort, Outcome, Progress, Target, UnmeasurableError
from figures import judge_at_most, median, median_interval, percent, ratio_interval, spread
from readers import Readers, room_for

import locklab
from locklab import _core
from locklab.web import Dashboard

TITLE = "The server at 10 frames a second to each client"
COLUMNS = ["clients", "figure", ">value", ">95% interval", ">limit", "verdict"]
RATE_HZ = 10.0
MANY = 1000
ONE_CLIENT_CPU = 0.01  # of a core
PATIENCE_S = 1.0

Figures = dict[str, Any]


def share(value: float) -> str:
    return f"{100 * value:.2f}%"


def stats(page: Dashboard) -> dict[str, int]:
    return dict(page._server.stats())  # type: ignore[call-overload]


def watched_run(page: Dashboard, readers: Readers | None, seconds: float) -> Figures:
    """One run of the default workload; with `readers`, somebody watches all of it."""
    handle = locklab.start("spin/ticket", seconds=seconds, warmup_s=0.2, watchdog_s=PATIENCE_S)
    found: Figures = {}
    if readers:
        readers.open(page.port, page.adopt(handle), 1)
        before, start = stats(page), time.monotonic()
        handle.wait()
        wall, after = time.monotonic() - start, stats(page)
        found = readers.close() | {
            "server_cpu": (after["cpu_ns"] - before["cpu_ns"]) / 1e9 / wall,
            "lost": after["frames_lost"] - before["frames_lost"],
        }
    return found | {"rate_per_s": handle.result()["total"]["rate_per_s"]}


def one_client(outcome: Outcome, effort: Effort, progress: Progress) -> None:
    """Interleaved runs with and without a client."""
    pairs, seconds = effort.count(12, 6), effort.seconds(1.0, 0.3)
    alone: list[Figures] = []
    watched: list[Figures] = []
    lost = 0
    with Dashboard(rate_hz=RATE_HZ) as page, Readers() as readers:
        for i in range(pairs):
            progress.step(i, pairs)
            try:
                pair = [
                    watched_run(page, r, seconds) for r in ((None, readers), (readers, None))[i % 2]
                ]
            except locklab.RunTimeout:
                readers.close()
                lost += 1
                continue
            without, with_one = pair if i % 2 == 0 else pair[::-1]
            alone.append(without)
            watched.append(with_one)
    if not watched:
        raise UnmeasurableError(f"in each of {pairs} pairs of runs a thread got no CPU")
    cpu = [w["server_cpu"] for w in watched]
    ratios = [w["rate_per_s"] / a["rate_per_s"] - 1 for a, w in zip(alone, watched, strict=True)]
    target = judge_at_most(
        "CPU of the server's thread, one client",
        median(cpu),
        median_interval(cpu),
        ONE_CLIENT_CPU,
        "<= 1% of a core",
    )
    own = [w["cpu_s"] / w["seconds"] for w in watched]
    frames = [w["ticks"] / w["seconds"] for w in watched]
    add(outcome, "1", "CPU of the server's thread", share, cpu, target)
    add(outcome, "1", "CPU of the client itself", share, own)
    add(outcome, "1", "change of the run's rate", percent, ratios)
    add(outcome, "1", "frames a second", "{:.1f}".format, frames)
    if lost:
        outcome.notes.append(f"{lost} of {pairs} pairs dropped: a thread got no CPU")
    outcome.samples["one client"] = {"without": alone, "with": watched}


def add(
    outcome: Outcome,
    clients: str,
    what: str,
    form: Any,
    samples: list[float],
    target: Target | None = None,
) -> None:
    interval = median_interval(samples)
    if target:
        outcome.targets.append(target)
    outcome.figures.append(
        {"clients": int(clients), "figure": what, "median": median(samples), "interval": interval}
    )
    outcome.rows.append(
        [
            clients,
            what,
            form(median(samples)),
            spread(interval, form),
            target.limit if target else "",
            target.verdict if target else "for information",
        ]
    )


def wait_until(handle: locklab.Handle, t_s: float) -> float:
    """Wait until the measured phase is `t_s` old; returns how old it is then."""
    while not handle.done:
        found = handle.progress()
        if found["phase"] == "measure" and found["t_s"] >= t_s:
            return float(found["t_s"])
        time.sleep(0.02)
    raise UnmeasurableError("the run ended before its watchers were done")


def many_clients(outcome: Outcome, effort: Effort, progress: Progress) -> None:
    """One run by one thread: alone, then watched by many, then alone again."""
    cpus = [cpu["os_index"] for cpu in _core.cpus()]
    clients = room_for(MANY)
    phase = effort.seconds(5.0, 1.5)
    with Dashboard(rate_hz=RATE_HZ) as page, Readers(cpus[-1]) as readers:
        handle = locklab.start(
            "spin/ticket", threads=1, place=f"cpus:{cpus[0]}", seconds=3 * phase + 10, warmup_s=0.2
        )
        with handle:
            opening = wait_until(handle, phase)
            readers.open(page.port, page.adopt(handle), clients)
            opened = handle.progress()["t_s"]
            wait_until(handle, opened + 0.3)
            before, start = stats(page), time.monotonic()
            closing = wait_until(handle, opened + 0.3 + phase)
            after, wall = stats(page), time.monotonic() - start
            read = readers.close()
            closed = handle.progress()["t_s"]
            end = wait_until(handle, closed + phase)
            handle.stop()
            series = handle.result()["series"]
    rates = [(t, sum(row)) for t, row in zip(series["t_s"], series["rate_per_s"], strict=True)]
    quiet = [r for t, r in rates if 0.3 < t < opening or closed + 1.0 < t < end]
    crowd = [r for t, r in rates if opened + 0.5 < t < closing]
    report(outcome, clients, len(cpus), wall, before, after, read)
    low, high = ratio_interval(quiet, crowd)
    change = median(crowd) / median(quiet) - 1
    interval = (low - 1, high - 1)
    target = Target(
        f"change of the run's rate, {clients} clients",
        change,
        interval,
        "no measured loss",
        interval[1] >= 0 if len(cpus) > 1 else None,
        "" if len(cpus) > 1 else "needs a CPU besides the run's",
    )
    outcome.targets.append(target)
    outcome.figures.append(
        {"clients": clients, "figure": "change of rate", "median": change, "interval": interval}
    )
    outcome.rows.append(
        [str(clients), "change of the run's rate", percent(change), spread(interval, percent)]
        + [target.limit, target.verdict]
    )
    outcome.samples["many clients"] = {"series": series, "quiet": quiet, "crowd": crowd} | read


def report(
    outcome: Outcome,
    clients: int,
    cpus: int,
    wall: float,
    before: dict[str, int],
    after: dict[str, int],
    read: Figures,
) -> None:
    cpu = (after["cpu_ns"] - before["cpu_ns"]) / 1e9 / wall
    sent = after["frames_sent"] - before["frames_sent"]
    lost = after["frames_lost"] - before["frames_lost"]
    target = Target(
        f"CPU of the server's thread, {clients} clients", cpu, None, "<= 1 core", cpu <= 1.0
    )
    outcome.targets.append(target)
    rows: list[tuple[str, str, Target | None]] = [
        ("CPU of the server's thread", share(cpu), target),
        ("CPU of the clients' process", share(read["cpu_s"] / read["seconds"]), None),
        ("frames sent a second", f"{sent / wall:.0f}", None),
        ("frames lost", str(lost), None),
        (
            "frames a second of the best and the worst client",
            f"{read['most'] / read['seconds']:.1f}, {read['least'] / read['seconds']:.1f}",
            None,
        ),
        ("CPU a frame, in us", f"{1e6 * cpu * wall / sent:.1f}" if sent else "-", None),
    ]
    for what, value, judged in rows:
        outcome.rows.append(
            [str(clients), what, value, "-", judged.limit if judged else ""]
            + [judged.verdict if judged else "for information"]
        )
    outcome.figures.append(
        {"clients": clients, "server_cpu": cpu, "frames_sent": sent, "frames_lost": lost} | read
    )


def measure(effort: Effort, progress: Progress) -> Outcome:
    outcome = Outcome("server", TITLE, COLUMNS)
    one_client(outcome, effort, progress)
    many_clients(outcome, effort, progress)
    outcome.notes.append(
        "One client: two threads run on all CPUs, so the reader's own work is part of the change. "
        "Many: one thread on the first CPU, the readers on the last; the run's rate every 0.1 s "
        "before and after against that while they read"
    )
    return outcome

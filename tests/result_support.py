# SPDX-License-Identifier: MIT
"""Results that several test files look at, each measured once a session."""

import functools

import locklab

SHORT = {"seconds": 0.05, "warmup_s": 0.01, "watchdog_s": 30.0}  # the host may be busy
KINDS = {
    "plain": {"lock": "spin/mcs", "repeat": 3},
    "one-thread": {"lock": "spin/tas", "threads": 1},
    "events": {"lock": "spin/ticket", "metrics": "events"},
    "bare": {"lock": "spin/ttas", "build": "bare"},
    "unchecked": {"lock": "spin/clh", "params": {"lines": 0}},
    "none": {"lock": "spin/none", "params": {"section_ns": 1000}, "seconds": 0.3},
    "shared": {"lock": "host/pthread-rwlock", "params": {"shared_pct": 50}},
    "crowd": {"lock": "host/pthread-mutex", "threads": 5},
    "perf": {"lock": "spin/mcs", "perf": "cycles,context-switches,task-clock"},
    "overhead": {"lock": "spin/mcs", "overhead": True, "seconds": 0.3},
    "hung": {
        "lock": "spin/mcs",
        "seconds": 1.0,
        "params": {"section_ns": 1_000_000_000},
        "watchdog_s": 0.05,
    },
    "stopped": {"lock": "spin/mcs", "seconds": 30.0},
}


@functools.cache
def result_of(kind: str) -> locklab.Result:
    """The result of one of `KINDS`; of a run that hung or was stopped, the partial one."""
    options = {**SHORT, **KINDS[kind]}
    if kind == "stopped":
        with locklab.start(**options) as handle:
            while not (now := handle.progress())["t_s"] or not sum(now["acquisitions"]):
                assert not handle.wait(0.01)
            handle.stop()
            return handle.result()
    try:
        return locklab.run(**options)
    except locklab.RunTimeout as error:
        if error.result is None:
            raise
        return error.result


@functools.cache
def document_of(kind: str) -> dict[str, object]:
    """The document of one of `KINDS`; do not change it."""
    return result_of(kind).to_dict()


def fabricated(rates: list[float], **changes: object) -> locklab.Result:
    """A result whose repeats have these rates, over one second each; everything else is real."""
    document = result_of("plain").to_dict()
    document["repeats"] = [
        {
            "index": i,
            "seconds": 1.0,
            "acquisitions": round(rate),
            "rate_per_s": float(rate),
            "regime_ns": [80.0, 80.0],
        }
        for i, rate in enumerate(rates)
    ]
    document |= changes
    return locklab.Result(document)

# SPDX-License-Identifier: MIT
"""Mistakes on the command line: one sentence on stderr that helps, and the right exit code."""

import pytest

from locklab import _core
from locklab.cli import COMMANDS, LATER, main

RUN = ["run", "spin/mcs"]

# words, parts of the sentence (option, value, allowed range or nearest name)
MISTAKES: list[tuple[list[str], list[str]]] = [
    ([], ["list, run, check, replay, compare, serve, doctor", "--help"]),
    (["runn"], ["'runn'", "did you mean run"]),
    (["comapre"], ["did you mean compare"]),
    (["xyzzy"], ["'xyzzy'", "--help"]),
    (["--verison"], ["option '--verison'", "did you mean --version"]),
    (["swep"], ["did you mean sweep"]),
    (["sweep", "spin/mcs"], ["later release"]),
    (["run"], ["LOCK is missing"]),
    (["run", "spin/mc"], ["LOCK", "spin/mc", "did you mean spin/mcs"]),
    (["run", "mcs"], ["did you mean mutex/mcs"]),
    (["run", "nothing-like-it"], ["see locklab list locks"]),
    ([*RUN, "extra"], ["'extra'", "too many"]),
    ([*RUN, "--thread", "3"], ["--thread", "did you mean --threads"]),
    ([*RUN, "-t", "0"], ["-t/--threads", "0", "1 to 1024"]),
    ([*RUN, "-t", "1025"], ["-t/--threads", "1025", "1 to 1024"]),
    ([*RUN, "-t", "two"], ["-t/--threads", "'two'", "1 to 1024"]),
    ([*RUN, "-t", "1,2"], ["-t/--threads", "'1,2'", "1 to 1024"]),
    ([*RUN, "-t", "9" * 30], ["-t/--threads", "1 to 1024"]),
    ([*RUN, "-t"], ["-t/--threads", "expected one argument"]),
    ([*RUN, "-s", "0"], ["-s/--seconds", "0", "0.001 to 86400"]),
    ([*RUN, "-s", "-1"], ["-s/--seconds", "-1", "0.001 to 86400"]),
    ([*RUN, "-s", "nan"], ["-s/--seconds", "nan", "0.001 to 86400"]),
    ([*RUN, "-s", "1s"], ["-s/--seconds", "'1s'", "0.001 to 86400"]),
    ([*RUN, "-r", "0"], ["-r/--repeat", "0", "1 to 1000"]),
    ([*RUN, "-r", "1001"], ["-r/--repeat", "1001", "1 to 1000"]),
    ([*RUN, "-r", "1.5"], ["-r/--repeat", "'1.5'", "1 to 1000"]),
    ([*RUN, "--seed", "-1"], ["--seed", "-1", "0 to 18446744073709551615"]),
    ([*RUN, "--seed", "x"], ["--seed", "'x'", "0 to 18446744073709551615"]),
    ([*RUN, "--warmup", "-1"], ["--warmup", "-1", "0 to 3600"]),
    ([*RUN, "--warmup", "x"], ["--warmup", "'x'", "0 to 3600"]),
    ([*RUN, "--watchdog", "0"], ["--watchdog", "0", "0.05 to 3600"]),
    ([*RUN, "--watchdog", "x"], ["--watchdog", "'x'", "0.05 to 3600"]),
    ([*RUN, "--tick", "0"], ["--tick", "0", "0.01 to 60"]),
    ([*RUN, "--tick", "x"], ["--tick", "'x'", "0.01 to 60"]),
    ([*RUN, "--heartbeat", "0"], ["--heartbeat", "0", "1e-06 to 10"]),
    ([*RUN, "--heartbeat", "x"], ["--heartbeat", "'x'", "1e-06 to 10"]),
    ([*RUN, "-w", "critical-sectoin"], ["-w/--workload", "did you mean critical-section"]),
    ([*RUN, "-w", "x"], ["-w/--workload", "see locklab list workloads"]),
    ([*RUN, "--place", "kompact"], ["--place", "'kompact'", "compact"]),
    ([*RUN, "--place", "cpus:0-99999"], ["--place"]),
    ([*RUN, "-p", "lines"], ["-p/--param", "'lines'", "NAME=VALUE"]),
    ([*RUN, "-p", "lines="], ["-p/--param", "'lines='", "NAME=VALUE"]),
    ([*RUN, "-p", "lines=-1"], ["-p: ", "lines=-1", "0 to 4096"]),
    ([*RUN, "-p", "lines=x"], ["-p: ", "lines=x"]),
    ([*RUN, "-p", "line=1"], ["-p: ", "line", "did you mean lines"]),
    ([*RUN, "-p", "lock.lines=1"], ["-p: ", "lines"]),
    ([*RUN, "--param=line=1"], ["-p: ", "did you mean lines"]),
    ([*RUN, "--metrics", "ful"], ["--metrics", "'ful'", "events, full", "did you mean full"]),
    ([*RUN, "--build", "fast"], ["--build", "'fast'", "bare"]),
    ([*RUN, "--owner-run", "x"], ["--owner-run", "'x'", "coop, heartbeat, always, never"]),
    ([*RUN, "--perf", "cycles,cycles"], ["--perf", "cycles"]),
    ([*RUN, "--perf", "no-such-event"], ["--perf", "no-such-event"]),
    ([*RUN, "--engine", "sim"], ["--engine", "sim", "later"]),
    ([*RUN, "--engine", "simm"], ["--engine", "did you mean sim"]),
    ([*RUN, "--machine", "epyc"], ["--machine", "not in this release"]),
    ([*RUN, "--validate", "--build", "bare"], ["--validate", "bare build"]),
    ([*RUN, "--band"], ["--band", "not in this release"]),
    ([*RUN, "-o", "/no/such/dir/x.json"], ["-o/--output", "/no/such/dir/x.json"]),
    ([*RUN, "-o", "/"], ["-o/--output", "is a directory"]),
    (["run", "--serve", "spin/mcs"], ["--serve", "'spin/mcs'", "put LOCK before --serve"]),
    ([*RUN, "--serve", "70000"], ["--serve", "'70000'", "0 to 65535"]),
    (["list", "lock"], ["'lock'", "locks, workloads, machines", "did you mean locks"]),
    (["list", "--jsn"], ["--jsn", "did you mean --json"]),
    (["compare", "a.json"], ["B.json is missing"]),
    (["compare", "no.json", "no.json"], ["'no.json'", "No such file"]),
    (["compare", "a", "b", "--metric", "rate"], ["--metric", "did you mean rate_per_s"]),
    (["serve", "--port", "x"], ["--port", "'x'", "0 to 65535"]),
    (["serve", "--host", "nowhere"], ["--host", "'nowhere'"]),
    (["doctor", "now"], ["'now'", "too many"]),
    (["help", "runn"], ["did you mean run"]),
]


@pytest.mark.parametrize(("words", "parts"), MISTAKES, ids=lambda v: " ".join(v) if v else "-")
def test_a_mistake_is_one_helpful_sentence(
    words: list[str], parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("\n")
    assert captured.err.count("\n") == 1
    command = f"locklab {words[0]}" if words and words[0] in COMMANDS else "locklab"
    assert captured.err.startswith(f"{command}: ")
    for part in parts:
        assert part in captured.err


@pytest.mark.skipif(not _core.HAS_SERVER, reason="built without libmicrohttpd")
def test_a_foreign_address_cannot_be_listened_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", "203.0.113.5"]) in (2, 3)
    assert "203.0.113.5" in capsys.readouterr().err


@pytest.mark.parametrize("name", LATER)
def test_what_comes_later_says_so(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "anything", "--at", "all"]) == 2
    assert f"{name} is not in this release" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_teaches_by_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"usage: locklab {name}" in text
    assert "examples:" in text
    assert main(["help", name]) == 0
    assert capsys.readouterr().out == text


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["-h"], ["help"]):
        assert main(words) == 0
        text = capsys.readouterr().out
        assert [name for name in COMMANDS if f"\n  {name} " not in text] == []
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("locklab ")


def test_every_option_of_the_contract_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        *("-w", "--workload", "-t", "--threads", "-s", "--seconds", "-r", "--repeat", "--engine"),
        *("--machine", "--seed", "--band", "-p", "--place", "--perf", "--metrics", "--validate"),
        *("--overhead", "--json", "-o", "--serve"),
    ]
    main(["run", "--help"])
    text = capsys.readouterr().out
    assert [option for option in options if option not in text] == []

# SPDX-License-Identifier: MIT
"""`locklab check` and `locklab replay` at work: output, files, exit codes, terminals, Ctrl-C."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import locklab
from locklab import contract
from locklab.checking import SCHEDULE
from locklab.cli import main

pytestmark = pytest.mark.check
LOCKLAB = [sys.executable, "-m", "locklab"]
QUICK = ["-t", "2", "-n", "1", "--seconds", "60"]
Capture = pytest.CaptureFixture[str]


def json_of(words: list[str], code: int, capsys: Capture) -> Any:
    assert main(words) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


@pytest.fixture(scope="module")
def schedule() -> str:
    found = locklab.check("spin/none", threads=2, n=1)
    return str(found.faults[0]["schedule"])


# --- verdicts and exit codes --------------------------------------------------------------------

CODES: list[tuple[list[str], int, str]] = [
    (["spin/mcs", *QUICK], 0, "No fault found."),
    (["spin/none", *QUICK], 1, "1 fault found: exclusion."),
    (["spin/mcs", *QUICK, "--budget", "1"], 3, "Undecided: "),
    (["spin/mcs", *QUICK, "--strategy", "pct", "--budget", "1"], 3, "Vacuous, "),
    (["spin/tas", *QUICK, "--strategy", "random", "--budget", "100"], 0, "sampling"),
    (["spin/ticket", *QUICK, "--bound", "1"], 0, "at most 1 preemption"),
    (["rwsem/wakeup-flag", "-n", "1", "--seconds", "60"], 1, "stranded reader, stranded writer."),
    (["rwsem/wakeup-flag", *QUICK], 0, "No fault found."),
    (["rwsem/wakeup-flag-fixed", "-n", "1", "-s", "60"], 0, "mode=clear-first"),
    (["rwsem/wakeup-flag-fixed", "-p", "mode=retry", "-n", "1", "-s", "60"], 1, "writer."),
]


@pytest.mark.parametrize(("words", "code", "text"), CODES, ids=lambda v: str(v)[:60])
def test_the_exit_code_is_the_verdict(
    words: list[str], code: int, text: str, capsys: Capture
) -> None:
    if "pct" in words:  # that seed which runs one thread after the other
        words = [*words, "--seed", str(vacuous_seed())]
    assert main(["check", *words]) == code
    captured = capsys.readouterr()
    assert text in captured.out
    assert captured.err == ""


def vacuous_seed() -> int:
    for seed in range(100):
        options: Any = {"threads": 2, "n": 1, "strategy": "pct", "budget": 1, "seed": seed}
        if locklab.check("spin/mcs", **options).verdict == "vacuous":
            return seed
    raise AssertionError("no seed lets the threads pass each other")


def test_json_is_the_document(capsys: Capture) -> None:
    document = json_of(["check", "spin/none", *QUICK, "--json"], 1, capsys)
    contract.validate(document, "stdout", contract.CHECK)
    assert document["fault"]["kind"] == "exclusion"


def test_defaults_equal_those_of_python(capsys: Capture) -> None:
    ours = json_of(["check", "spin/none", "--first", "--json"], 1, capsys)["config"]
    assert ours == locklab.check("spin/none", first=True)["config"]
    assert (ours["threads"], ours["strategy"], ours["memory"]) == (3, "auto", "tso")
    assert (ours["seconds"], ours["n"], ours["client"]) == (10.0, None, "mutex")


def test_options_reach_the_config(capsys: Capture) -> None:
    words = [
        *("check", "rwsem/wakeup-flag-fixed", "-t", "3", "-n", "2", "--client", "shared"),
        *("-p", "mode=retry", "--strategy", "dfs", "--memory", "sc", "--bound", "1"),
        *("--budget", "50000", "--seconds", "20", "--seed", "7", "--giveups", "2", "--first"),
        *("--writers", "2", "--json"),
    ]
    main(words)
    config = json.loads(capsys.readouterr().out)["config"]
    assert config.pop("params")["mode"] == "retry"
    assert config == {
        "lock": "rwsem/wakeup-flag-fixed",
        "threads": 3,
        "n": 2,
        "client": "shared",
        "strategy": "dfs",
        "memory": "sc",
        "bound": 1,
        "property": None,
        "budget": 50000,
        "seconds": 20.0,
        "seed": 7,
        "giveups": 2,
        "first": True,
        "writers": 2,
        "orders": None,
    }


def test_the_text_is_that_of_the_verdict(capsys: Capture) -> None:
    assert main(["check", "spin/none", *QUICK, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    ours = str(locklab.Verdict(document))
    assert main(["check", "spin/none", *QUICK]) == 1
    timeless = re.compile(r"[\d.]+ s|[\d.]+ (k|M)?/s")
    assert timeless.sub("", capsys.readouterr().out) == timeless.sub("", ours) + "\n"


def test_the_settings_that_are_shown_can_be_given(capsys: Capture) -> None:
    words = ["check", "rwsem/wakeup-flag-fixed", *QUICK, "-p", "check_first=1"]
    assert main(words) == 0
    shown = capsys.readouterr().out.splitlines()[1]
    assert "check_first=true" in shown
    again = [word for setting in shown.split(", ") for word in ("-p", setting)]
    assert main([*words[:-2], *again]) == 0
    assert capsys.readouterr().out.splitlines()[1] == shown


def test_a_clean_verdict_fits_a_screen(capsys: Capture) -> None:
    main(["check", "spin/mcs", *QUICK])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100


# --- every client -------------------------------------------------------------------------------


def test_every_client_that_the_lock_can_run(capsys: Capture) -> None:
    words = ["check", "rwsem/wakeup-flag", "--client", "all", *QUICK, "--json"]
    document = json_of(words, 0, capsys)
    assert document["schema"] == "locklab.checks/1"
    clients = [one["config"]["client"] for one in document["checks"]]
    assert {"mutex", "shared", "try"} <= set(clients)
    early = {entry["id"] for entry in locklab.clients() if entry["ends_early"]}
    assert "mutex-once" in early
    assert not early & set(clients)
    for one in document["checks"]:
        contract.validate(one, "a check", contract.CHECK)


def test_the_worst_client_decides(capsys: Capture) -> None:
    """mutex and the like find the fault, whatever others leave undecided."""
    assert main(["check", "spin/none", "--client", "all", *QUICK]) == 1
    out = capsys.readouterr().out
    for client in ("handoff", "mutex", "try"):
        assert f"client {client}" in out
    assert "client shared" not in out
    assert main(["check", "spin/mcs", "--client", "all", *QUICK, "--budget", "1"]) == 3


def test_every_client_of_a_lock_that_cannot_be_checked(capsys: Capture) -> None:
    assert main(["check", "host/pthread-mutex", "--client", "all"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("locklab check: LOCK: host/pthread-mutex cannot be checked")


# --- mistakes -----------------------------------------------------------------------------------

CHECK = ["check", "spin/mcs"]
MISTAKES: list[tuple[list[str], list[str]]] = [
    (["check"], ["LOCK is missing"]),
    (["check", "spin/mc"], ["LOCK", "did you mean spin/mcs", "see locklab list locks"]),
    (["check", "host/pthread-mutex"], ["LOCK", "cannot be checked", "real threads"]),
    ([*CHECK, "-t", "9"], ["-t/--threads", "9", "1 to 8"]),
    ([*CHECK, "-t", "x"], ["-t/--threads", "'x'", "1 to 8"]),
    ([*CHECK, "-n", "0"], ["-n/--turns", "0", "1 to 64"]),
    ([*CHECK, "-n", "65"], ["-n/--turns", "65", "1 to 64"]),
    ([*CHECK, "--client", "mutx"], ["--client", "'mutx'", "did you mean mutex", "handoff"]),
    ([*CHECK, "--client", "shared"], ["--client", "no shared mode"]),
    ([*CHECK, "--client", "all", "--writers", "1"], ["--writers", "no shared mode"]),
    ([*CHECK, "--writers", "1"], ["--writers", "no readers"]),
    ([*CHECK, "--writers", "4"], ["--writers", "4", "1 to 3"]),
    ([*CHECK, "-p", "spin"], ["-p/--param", "'spin'", "NAME=VALUE"]),
    ([*CHECK, "-p", "spin=1"], ["-p: ", "parameter spin"]),
    (["check", "rwsem/3.12", "-p", "stea=no"], ["-p: ", "did you mean steal"]),
    (["check", "rwsem/3.12", "-p", "steal=maybe"], ["-p: ", "steal=maybe"]),
    ([*CHECK, "--strategy", "bfs"], ["--strategy", "'bfs'", "auto, dfs, pct, random"]),
    ([*CHECK, "--memory", "arm"], ["--memory", "'arm'", "tso, sc"]),
    ([*CHECK, "--bound", "-1"], ["--bound", "-1", "0 to 100"]),
    ([*CHECK, "--bound", "1", "--strategy", "random"], ["--bound", "auto or dfs"]),
    ([*CHECK, "--property", "fifo"], ["--property", "'fifo'", "starvation"]),
    ([*CHECK, "--budget", "0"], ["--budget", "0", "1 to"]),
    ([*CHECK, "--seconds", "0"], ["-s/--seconds", "0"]),
    ([*CHECK, "--seconds", "nan"], ["-s/--seconds", "nan"]),
    ([*CHECK, "--seed", "-1"], ["--seed", "-1", "0 to 18446744073709551615"]),
    ([*CHECK, "--giveups", "9"], ["--giveups", "9", "0 to 8"]),
    ([*CHECK, "-o", "/no/such/dir/x.json"], ["-o/--output", "/no/such/dir"]),
    ([*CHECK, "--strateg", "dfs"], ["--strateg", "did you mean --strategy"]),
    (["replay"], ["SCHEDULE|FILE is missing"]),
    (["replay", "no.json"], ["SCHEDULE", "'no.json'", "neither a schedule", "nor a file"]),
    (["replay", "spin/none:2x1:000000:"], ["SCHEDULE", "another version of spin/none"]),
    (["replay", "spin/noone:2x1:000000:"], ["did you mean spin/none"]),
    (["replay", "a:b"], ["SCHEDULE", "a:b", "not a schedule"]),
    (["replay", "a:" + "b" * 9999], ["SCHEDULE", "10001 characters", "4096"]),
    (["replay", "a:b", "--step", "--json"], ["--step", "--json"]),
    (["replay", "."], ["SCHEDULE", "'.'"]),
]


@pytest.mark.parametrize(("words", "parts"), MISTAKES, ids=lambda v: " ".join(v)[:60])
def test_a_mistake_is_one_helpful_sentence(
    words: list[str], parts: list[str], capsys: Capture
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"locklab {words[0]}: ")
    for part in parts:
        assert part in captured.err


# --- files and replays --------------------------------------------------------------------------


def test_a_saved_check_is_replayed(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "none.json"
    assert main(["check", "spin/none", *QUICK, "-o", str(path)]) == 1
    assert capsys.readouterr().err == f"saved: {path}\n"
    saved = locklab.Verdict.load(path)
    again = json_of(["replay", str(path), "--json"], 1, capsys)
    contract.validate(again, "replay", contract.CHECK)
    assert again["faults"][0]["trace"] == saved["faults"][0]["trace"]
    assert again["config"]["strategy"] == "replay"


def test_each_fault_of_a_saved_check_is_replayed(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "flag.json"
    main(["check", "rwsem/wakeup-flag", "-n", "1", "-s", "60", "-o", str(path)])
    saved = capsys.readouterr().out
    document = json_of(["replay", str(path), "--json"], 1, capsys)
    assert document["schema"] == "locklab.checks/1"
    assert [one["faults"][0]["role"] for one in document["checks"]] == ["reader", "writer"]
    text = tmp_path / "flag.txt"
    text.write_text(saved, encoding="utf-8")
    again = json_of(["replay", str(text), "--json"], 1, capsys)
    assert [one["config"] for one in again["checks"]] == [
        one["config"] for one in document["checks"]
    ]
    assert len(SCHEDULE.findall(saved)) == 2


def test_a_saved_run_of_all_clients_is_replayed(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "all.json"
    assert main(["check", "spin/none", "--client", "all", *QUICK, "-o", str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == json.loads(path.read_text(encoding="utf-8"))
    assert main(["replay", str(path)]) == 1
    assert "client mutex" in capsys.readouterr().out


def test_a_schedule_in_any_text_is_found(tmp_path: Path, capsys: Capture, schedule: str) -> None:
    path = tmp_path / "mail.txt"
    path.write_text(f"Look, it fails:\n> locklab replay '{schedule}'.\nBye\n", encoding="utf-8")
    assert main(["replay", str(path)]) == 1
    assert "1 fault found: exclusion." in capsys.readouterr().out


def test_a_replay_prints_the_trace_and_how_to_repeat_it(capsys: Capture, schedule: str) -> None:
    assert main(["replay", schedule]) == 1
    out = capsys.readouterr().out
    assert f"locklab replay '{schedule}'" in out
    assert "is let in" in out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "there is no schedule in"),
        (b"hello\n", "there is no schedule in"),
        (b"\xff\xfe\0", "no text file"),
        (b'{"schema": "locklab.run/1"}', "locklab.check/1"),
        (b'{"schema": "locklab.checks/1"}', "breaks its schema"),
        (b'{"schema": "locklab.checks/1", "checks": [1]}', "no verdict"),
        (b"[" * 100_000, "there is no schedule in"),
    ],
    ids=lambda v: str(v)[:40],
)
def test_a_file_without_a_schedule_is_refused(
    tmp_path: Path, content: bytes, words: str, capsys: Capture
) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert main(["replay", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("locklab replay: SCHEDULE: ")
    assert captured.err.count("\n") == 1
    assert words in captured.err


def test_a_check_without_a_fault_has_nothing_to_replay(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "mcs.json"
    assert main(["check", "spin/mcs", *QUICK, "-o", str(path)]) == 0
    capsys.readouterr()
    assert main(["replay", str(path)]) == 2
    assert "it holds no fault" in capsys.readouterr().err


def test_steps_do_not_wait_where_nobody_can_press_enter(schedule: str) -> None:
    done = subprocess.run(
        [*LOCKLAB, "replay", schedule, "--step"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "no terminal" in done.stderr
    assert "is let in" in done.stdout


# --- terminals and Ctrl-C -----------------------------------------------------------------------


def terminal(words: list[str], typed: bytes = b"") -> tuple[str, int]:
    """Output (both streams) and exit code of a command that finds a terminal on all of them."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.pop("NO_COLOR", None)
        os.environ.update({"TERM": "xterm-256color", "COLUMNS": "120"})
        os.execv(sys.executable, [sys.executable, "-m", "locklab", *words])
    os.write(fd, typed)
    chunks = []
    while True:
        try:
            chunk = os.read(fd, 65536)
        except OSError:  # EIO: the terminal has closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(fd)
    return b"".join(chunks).decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_terminal_gets_progress_and_a_rich_trace() -> None:
    text, code = terminal(["check", "spin/tas", "-t", "8", "-n", "8", "--seconds", "1"])
    assert code in (0, 3)
    assert "executions" in text
    assert "\x1b[1m" in text
    text, code = terminal(["check", "spin/none", *QUICK])
    assert code == 1
    assert "what happens" in text
    assert "locklab replay" in text


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_enter_goes_on_by_a_step(schedule: str) -> None:
    text, code = terminal(["replay", schedule, "--step"], b"\n" * 40)
    assert code == 1
    assert text.count("is let in") >= 4  # twice in the walk, twice in the table below it


def wait_until_busy(process: subprocess.Popen[str]) -> None:
    """By the CPU time of the process."""
    for _ in range(600):
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 0.6:
            return
        time.sleep(0.05)
    raise AssertionError("the check did not start")


@pytest.mark.parametrize("as_json", [True, False])
def test_ctrl_c_keeps_what_was_explored(as_json: bool, tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    process = subprocess.Popen(
        [*LOCKLAB, "check", "spin/tas", "-t", "8", "-n", "8", "--seconds", "600"]
        + ["-o", str(path)]
        + ["--json"] * as_json,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until_busy(process)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    saved = locklab.Verdict.load(path)
    assert saved.interrupted
    if as_json:
        assert json.loads(out) == saved.to_dict()
    else:
        assert "Interrupted: what follows was explored until then." in out


def test_ctrl_c_keeps_the_clients_before() -> None:
    """The document ends with the client that was under way."""
    process = subprocess.Popen(
        [*LOCKLAB, "check", "spin/none", "--client", "all", "--seconds", "600", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until_busy(process)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert json.loads(out)["checks"][-1]["interrupted"]

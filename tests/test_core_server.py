# SPDX-License-Identifier: MIT
"""Server as a Python object: options, requests, stopping. test_server_*.py speak HTTP with it."""

from __future__ import annotations

import gc
import http.client
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from locklab import _core
from locklab.errors import ConfigError, RunError

pytestmark = pytest.mark.dashboard
OPTIONS: Any = {"host": "127.0.0.1", "port": 0, "rate_hz": 10.0, "max_clients": 8}


@pytest.fixture
def server() -> Iterator[_core.Server]:
    server = _core.Server(OPTIONS)
    yield server
    server.stop()


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(RunError) as caught:
        call()
    return caught.value.code


def get(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def refuses(port: int) -> bool:
    with socket.socket() as s:
        s.settimeout(5)
        return s.connect_ex(("127.0.0.1", port)) != 0


# --- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"port": -1}, "port"),
        ({"port": 65536}, "port"),
        ({"rate_hz": 0.0}, "rate_hz"),
        ({"rate_hz": 10**400}, "rate_hz"),
        ({"rate_hz": float("nan")}, "rate_hz"),
        ({"max_clients": 0}, "max_clients"),
        ({"max_clients": 2**32}, "max_clients"),
        ({"host": "nowhere.invalid"}, "host"),
        ({"host": "127.0.0.1\0"}, "host"),
        ({"token": "\ud800"}, "token"),
    ],
)
def test_a_bad_option_names_itself(change: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _core.Server(OPTIONS | change)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "options",
    [
        None,
        [],
        {},
        {"host": "127.0.0.1"},
        OPTIONS | {"colour": 1},
        OPTIONS | {1: 1},
        OPTIONS | {"host": None},
        OPTIONS | {"host": b"127.0.0.1"},
        OPTIONS | {"port": "80"},
        OPTIONS | {"port": 80.0},
        OPTIONS | {"rate_hz": "10"},
        OPTIONS | {"token": 1},
        OPTIONS | {"assets": {}},
        OPTIONS | {"assets": ["abcde"]},
        OPTIONS | {"assets": [("/a", "t", '"e"', b"x")]},
        OPTIONS | {"assets": [("/a", "t", '"e"', "x", None)]},
        OPTIONS | {"assets": [("/a", "t", '"e"', bytearray(b"x"), None)]},
        OPTIONS | {"assets": [(1, "t", '"e"', b"x", None)]},
        OPTIONS | {"assets": [("/a", "t", '"e"', b"x", "gz")]},
    ],
)
def test_a_wrong_type_or_key_is_a_type_error(options: Any) -> None:
    with pytest.raises(TypeError):
        _core.Server(options)


def test_a_taken_port_is_an_error(server: _core.Server) -> None:
    assert code_of(lambda: _core.Server(OPTIONS | {"port": server.port})) == "EADDRINUSE"


def test_the_server_keeps_its_assets() -> None:
    body = os.urandom(5000)
    assets: list[list[Any]] = [["/a", "text/plain", '"e"', bytes(bytearray(body)), None]]
    server = _core.Server(OPTIONS | {"assets": assets})
    assets[0][3] = b""
    assets.clear()
    gc.collect()
    assert get(server.port, "/a") == (200, body)
    server.stop()


# --- requests -----------------------------------------------------------------------------------


def test_a_request_is_answered_once(server: _core.Server) -> None:
    replies: list[tuple[int, bytes]] = []
    client = threading.Thread(target=lambda: replies.append(get(server.port, "/api/v1/x?y=1")))
    client.start()
    request = server.next_request(60)
    assert request is not None
    number, method, path, body = request
    assert (method, path.split("?")[0], body) == ("GET", "/api/v1/x", b"")
    assert server.answer(number, 200, "text/plain", b"hello", location=None) is True
    client.join()
    assert replies == [(200, b"hello")]
    assert server.answer(number, 200, "text/plain", b"again") is False
    assert server.answer(2**64 - 1, 200, "text/plain", b"") is False
    assert server.stats()["requests"] >= 1


def test_waiting_for_a_request_ends(server: _core.Server) -> None:
    assert server.next_request(0) is None
    assert server.next_request(timeout=-1) is None
    assert server.next_request(0.03) is None
    with pytest.raises(ConfigError):
        server.next_request(float("nan"))
    with pytest.raises(TypeError):
        server.next_request("1")  # type: ignore[arg-type]


def test_a_bad_answer_is_refused(server: _core.Server) -> None:
    for status in (0, 99, 600, 2**40, -1):
        with pytest.raises(ConfigError):
            server.answer(1, status, "text/plain", b"")
    wrong: list[tuple[object, ...]] = [
        ("1", 200, "text/plain", b""),
        (1, 200.0, "text/plain", b""),
        (1, 200, b"text/plain", b""),
        (1, 200, "text/plain", "text"),
        (1, 200, "text/plain", b"", 5),
        (1, 200),
    ]
    for arguments in wrong:
        with pytest.raises(TypeError):
            server.answer(*arguments)  # type: ignore[arg-type]


def test_only_a_run_can_be_attached(server: _core.Server) -> None:
    for run in (None, server, 1):
        with pytest.raises(TypeError):
            server.attach("r1", run)  # type: ignore[arg-type]
    run = _core.start({"lock": "spin/tas", "seconds": 0.01, "warmup_s": 0.0})
    with pytest.raises(TypeError):
        server.attach(1, run)  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        server.attach("r\0", run)
    server.attach(run_id="r1", run=run)
    assert run.wait(60)


def test_an_attached_run_outlives_its_handle(server: _core.Server) -> None:
    run = _core.start({"lock": "spin/tas", "seconds": 0.01, "warmup_s": 0.0})
    assert run.wait(60)
    server.attach("kept", run)
    del run
    gc.collect()
    status, body = get(server.port, "/api/v1/runs/kept/stream")
    assert status == 200
    assert b"event: hello" in body
    assert b"event: end" in body


# --- the end ------------------------------------------------------------------------------------


def test_a_stopped_server_says_so_and_frees_its_port() -> None:
    server = _core.Server(OPTIONS)
    port = server.port
    assert not refuses(port)
    server.stop()
    server.stop()
    assert refuses(port)
    run = _core.start({"lock": "spin/tas", "seconds": 0.01, "warmup_s": 0.0})
    calls: list[Callable[[], object]] = [
        lambda: server.port,
        lambda: server.next_request(0),
        lambda: server.answer(1, 200, "text/plain", b""),
        lambda: server.attach("r1", run),
        server.stats,
    ]
    assert {code_of(call) for call in calls} == {"ECANCELED"}
    assert run.wait(60)


def test_dropping_a_server_stops_it() -> None:
    server = _core.Server(OPTIONS)
    port = server.port
    del server
    assert refuses(port)


def test_a_server_in_a_cycle_is_collected_and_stopped() -> None:
    assets: list[Any] = [("/a", "text/plain", '"e"', os.urandom(5000), None)]
    assets.append(("/b", "text/plain", '"e"', os.urandom(5000), None))
    server = _core.Server(OPTIONS | {"assets": assets})
    port = server.port
    assets.append(server)
    del server, assets
    gc.collect()
    assert refuses(port)


def test_stop_wakes_those_who_wait_for_requests(server: _core.Server) -> None:
    codes: list[str] = []
    threads = [
        threading.Thread(target=lambda: codes.append(code_of(server.next_request)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    server.stop()
    for thread in threads:
        thread.join()
    assert codes == ["ECANCELED"] * 3


@pytest.mark.parametrize("stops", [False, True])
def test_a_signal_ends_the_wait(server: _core.Server, stops: bool) -> None:
    """Whether its handler raises, or stops the server that its own thread waits for."""

    def handle(number: int, frame: object) -> None:
        if not stops:
            raise KeyboardInterrupt
        server.stop()

    old = signal.signal(signal.SIGUSR1, handle)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(RunError if stops else KeyboardInterrupt):
            server.next_request()
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, old)

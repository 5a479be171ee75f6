# SPDX-License-Identifier: MIT
"""The HTTP server as any client sees it: files, API requests, refusals, bounds, stop, fork."""

import contextlib
import errno
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from http_client import ASSETS, PAGE, ask, connect, exchange, read_reply, request, send_all, serving
from locklab.errors import ConfigError, RunError

pytestmark = pytest.mark.dashboard
JSON = "Content-Type: application/json"
TOKEN = "s3cret+/="


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Port of a server with a program that echoes."""
    with serving() as server:
        yield server.port


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/index.html", "/?theme=dark"])
def test_the_page_is_served(port: int, path: str) -> None:
    reply = ask(port, f"GET {path}")
    assert (reply.status, reply.body) == (200, PAGE)
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert reply.headers["etag"] == '"p1"'
    assert reply.headers["cache-control"] == "no-cache"


def test_files_are_compressed_for_those_who_ask(port: int) -> None:
    reply = ask(port, "GET /", "Accept-Encoding: br, gzip")
    assert reply.headers["content-encoding"] == "gzip"
    assert reply.body == ASSETS[0][4]
    assert reply.headers["vary"] == "Accept-Encoding"
    assert reply.headers["etag"] not in ("", '"p1"')
    plain = ask(port, "GET /app.js", "Accept-Encoding: gzip")
    assert "content-encoding" not in plain.headers
    assert plain.body == ASSETS[1][3]


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_an_unchanged_file_is_not_sent_again(port: int, encoding: str) -> None:
    first = ask(port, "GET /", f"Accept-Encoding: {encoding}")
    again = ask(
        port, "GET /", f"Accept-Encoding: {encoding}", f"If-None-Match: {first.headers['etag']}"
    )
    assert (again.status, again.body) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


def test_head_is_get_without_the_body(port: int) -> None:
    reply = ask(port, "HEAD /")
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["content-length"] == str(len(PAGE))


@pytest.mark.parametrize("line", ["GET /", "GET /nowhere", "GET /api/v1/locks", "GET /healthz"])
def test_every_response_forbids_what_pages_need_not(port: int, line: str) -> None:
    headers = ask(port, line).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "default-src 'self'" in headers["content-security-policy"]
    assert not [name for name in headers if name.startswith("access-control-")]


# --- the program behind it -----------------------------------------------------------------------


def test_requests_reach_the_program_as_they_came(port: int) -> None:
    reply = ask(port, "GET /api/v1/runs?a=%20b&c")
    assert (reply.status, reply.body) == (200, b'["GET", "/api/v1/runs?a=%20b&c", ""]')
    assert reply.headers["cache-control"] == "no-store"
    reply = ask(port, "POST /api/v1/runs", JSON + "; charset=utf-8", body=b'{"lock": 1}')
    assert reply.status == 201
    assert reply.headers["location"] == "/api/v1/runs/7"
    assert b'{\\"lock\\": 1}' in reply.body
    assert b'"DELETE"' in ask(port, "DELETE /api/v1/runs/7").body
    assert b'"/metrics"' in ask(port, "GET /metrics").body
    head = ask(port, "HEAD /api/v1/locks")
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["content-length"]) == len(b'["GET", "/api/v1/locks", ""]')


def test_a_chunked_body_is_put_together(port: int) -> None:
    chunks = b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    line = "POST /api/v1/runs"
    reply = ask(port, line, JSON, "Transfer-Encoding: chunked", body=chunks)
    assert reply.body == b'["POST", "/api/v1/runs", "abcde"]'


def test_pipelined_requests_are_answered_in_order(port: int) -> None:
    lines = ["GET /healthz", "GET /api/v1/a", "GET /app.js", "GET /api/v1/b"]
    with connect(port) as sock, sock.makefile("rb") as file:
        sock.sendall(b"".join(request(port, line) for line in lines))
        bodies = [read_reply(file).body for _ in lines]
    assert bodies[0] == b"ok\n"
    assert b"/api/v1/a" in bodies[1]
    assert bodies[2] == ASSETS[1][3]
    assert b"/api/v1/b" in bodies[3]


def test_an_answer_cannot_smuggle_headers() -> None:
    with serving(None) as server, connect(server.port) as sock:
        sock.sendall(request(server.port, "GET /api/v1/x"))
        taken = server.next_request(20)
        assert taken is not None
        with pytest.raises(ConfigError):
            server.answer(taken[0], 200, "text/plain\r\nX-Evil: 1", b"")
        assert server.answer(taken[0], 200, "text/plain", b"fine")
        assert read_reply(sock).body == b"fine"


def test_only_waiting_requests_can_be_answered() -> None:
    with serving(None) as server:
        assert server.answer(12345, 200, "text/plain", b"") is False
        assert server.next_request(0) is None


# --- refusals ------------------------------------------------------------------------------------

REFUSED = [
    ("GET /nowhere", [], 404),
    ("GET /api/v1/runs/none/stream", [], 404),
    ("GET /api", [], 404),
    ("POST /app.js", [JSON], 405),
    ("DELETE /healthz", [], 405),
    ("DELETE /api/v1/runs/none/stream", [], 405),
    ("PUT /api/v1/runs", [], 405),
    ("BREW /pot", [], 501),
    ("OPTIONS *", [], 400),
    ("GET http://127.0.0.1/", [], 400),
    ("GET /" + "a" * 2048, [], 414),
    ("GET /", ["Host: 127.0.0.1"], 400),  # a second one
    ("GET /", ["Origin: http://evil.example"], 403),
    ("GET /api/v1/runs/none/stream", ["Origin: null"], 403),
    ("POST /api/v1/runs", [JSON, "Origin: http://evil.example"], 403),
    ("POST /api/v1/runs", [JSON, "Sec-Fetch-Site: cross-site"], 403),
    ("DELETE /api/v1/runs/1", ["Sec-Fetch-Site: same-site"], 403),
    ("POST /api/v1/runs", [], 415),
    ("POST /api/v1/runs", ["Content-Type: text/plain"], 415),
    ("POST /api/v1/runs", [JSON, "Content-Length: 4097"], 413),
]


@pytest.mark.parametrize(("line", "headers", "status"), REFUSED)
def test_refusals_are_problem_documents(
    port: int, line: str, headers: list[str], status: int
) -> None:
    reply = ask(port, line, *headers)
    assert reply.status == status
    assert reply.problem()["title"]
    assert ("allow" in reply.headers) == (status == 405)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}"]
)
def test_foreign_hosts_are_not_answered(port: int, host: str) -> None:
    reply = ask(port, "GET /", host=host.format(port=port))
    assert reply.status == 421
    assert PAGE not in reply.body


def test_our_own_page_may_post(port: int) -> None:
    origin = f"Origin: http://127.0.0.1:{port}"
    assert ask(port, "POST /api/v1/runs", JSON, origin, "Sec-Fetch-Site: same-origin").status == 201


@pytest.mark.parametrize("chunked", [False, True])
def test_ten_megabytes_are_refused_without_reading_them(port: int, chunked: bool) -> None:
    body = b"x" * 10_000_000
    headers = [JSON]
    if chunked:
        body = b"".join(b"%x\r\n%s\r\n" % (65536, body[:65536]) for _ in range(160)) + b"0\r\n\r\n"
        headers.append("Transfer-Encoding: chunked")
    with connect(port) as sock:
        everything = send_all(sock, request(port, "POST /api/v1/runs", *headers, body=body))
        reply = read_reply(sock)
    assert reply.status == 413
    reply.problem()
    assert not everything
    assert ask(port, "GET /healthz").status == 200


def test_garbage_is_survived() -> None:
    with serving(max_clients=900) as server:

        @given(st.binary(max_size=300), st.booleans())
        def garbage(data: bytes, as_headers: bool) -> None:
            with connect(server.port) as sock:
                start = request(server.port, "GET /")[:-2] if as_headers else b""
                send_all(sock, start + data)
            assert ask(server.port, "GET /healthz").body == b"ok\n"

        garbage()
        deadline = time.monotonic() + 60
        while server.stats()["clients"]:  # none is held on to
            assert time.monotonic() < deadline
            time.sleep(0.05)


# --- the token -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def locked() -> Iterator[int]:
    """Port of a server that asks for TOKEN."""
    with serving(token=TOKEN) as server:
        yield server.port


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Authorization: Bearer {TOKEN}", 200),
        (f"Cookie: theme=dark; locklab_token={TOKEN}", 200),
        ("Authorization: Bearer s3cret", 401),
        ("Cookie: locklab_token=", 401),
        ("X-None: 0", 401),
    ],
)
@pytest.mark.parametrize("path", ["/", "/app.js", "/api/v1/locks", "/metrics"])
def test_the_token_opens_everything(locked: int, path: str, header: str, status: int) -> None:
    reply = ask(locked, f"GET {path}", header)
    assert reply.status == status
    assert ("www-authenticate" in reply.headers) == (status == 401)


def test_health_needs_no_token(locked: int) -> None:
    assert ask(locked, "GET /healthz").status == 200


def test_the_link_turns_into_a_cookie(locked: int) -> None:
    reply = ask(locked, f"GET /?token={TOKEN}")
    assert (reply.status, reply.headers["location"]) == (303, "/")
    cookie, *attributes = reply.headers["set-cookie"].split("; ")
    assert cookie == f"locklab_token={TOKEN}"
    assert set(attributes) == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert ask(locked, "GET /", f"Cookie: {cookie}").body == PAGE
    assert ask(locked, "GET /?token=wrong").status == 401


def test_other_machines_need_a_token() -> None:
    with pytest.raises(RunError, match="token") as caught, serving(host="0.0.0.0"):
        pass
    assert (caught.value.code, caught.value.field) == ("EACCES", "host")


def test_on_all_addresses_the_token_decides_about_the_host() -> None:
    with serving(host="0.0.0.0", token=TOKEN) as server:
        port, bearer = server.port, f"Authorization: Bearer {TOKEN}"
        assert ask(port, "GET /", bearer, host=f"lab.example:{port}").status == 200
        assert ask(port, "GET /", host=f"lab.example:{port}").status == 401
        assert ask(port, "GET /", bearer, host="lab.example").status == 421


# --- bounds and life -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"rate_hz": 0.5}, "rate_hz"),
        ({"rate_hz": 21.0}, "rate_hz"),
        ({"rate_hz": float("nan")}, "rate_hz"),
        ({"max_clients": 0}, "max_clients"),
        ({"max_clients": 5000}, "max_clients"),
        ({"host": "example.org"}, "host"),
        ({"host": "192.0.2.1", "token": "x"}, "host"),
        ({"token": "with space"}, "token"),
        ({"token": ""}, "token"),
        ({"assets": [("app.js", "text/javascript", '"x"', b"", None)]}, "assets"),
        ({"assets": [("/app.js", "text/javascript", "x", b"", None)]}, "assets"),
    ],
)
def test_bad_options_name_the_field(options: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError) as caught, serving(None, **options):
        pass
    assert caught.value.field == field


def test_a_busy_port_is_said() -> None:
    with serving(None) as server:
        with pytest.raises(RunError, match=str(server.port)) as caught:
            serving(None, port=server.port).__enter__()
        assert caught.value.code == errno.errorcode[errno.EADDRINUSE]


def test_too_many_connections_are_told_so() -> None:
    with serving(max_clients=3) as server:
        first = [connect(server.port) for _ in range(3)]
        for sock in first:
            sock.sendall(request(server.port, "GET /healthz"))
            assert read_reply(sock).status == 200
        reply = ask(server.port, "GET /healthz")
        assert reply.status == 503
        assert reply.headers["retry-after"]
        reply.problem()
        for sock in first:
            sock.close()
        deadline = time.monotonic() + 20
        while ask(server.port, "GET /healthz").status == 503:
            assert time.monotonic() < deadline
        assert server.stats()["clients_max"] >= 4
        assert server.stats()["refused"] >= 1


def test_the_queue_of_requests_is_bounded_and_stop_answers_it() -> None:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving(None, max_clients=60))
        socks = [stack.enter_context(connect(server.port)) for _ in range(33)]
        for sock in socks:
            sock.sendall(request(server.port, "GET /api/v1/locks"))
        while server.stats()["refused"] == 0:  # one found the queue full
            time.sleep(0.01)
        taken = server.next_request(20)
        assert taken is not None
        stopper = threading.Thread(target=server.stop)
        stopper.start()
        replies = [read_reply(sock) for sock in socks]
        stopper.join(20)
        details = [reply.problem()["detail"] for reply in replies]
        assert {reply.status for reply in replies} == {503}
        assert sum("waiting" in text for text in details) == 1
        assert sum("stopping" in text for text in details) == 32
        with pytest.raises(RunError):
            server.answer(taken[0], 200, "text/plain", b"too late")


def test_stop_wakes_those_who_wait_for_requests() -> None:
    with serving(None) as server:
        caught: list[str] = []

        def wait() -> None:
            try:
                server.next_request(60)
            except RunError as e:
                caught.append(e.code)

        waiter = threading.Thread(target=wait)
        waiter.start()
        server.stop()
        waiter.join(20)
        assert caught == ["ECANCELED"]
        server.stop()


def test_a_stopped_server_frees_its_port() -> None:
    with serving(None) as server:
        port = server.port
        with connect(port) as sock:  # also with a connection open
            sock.sendall(request(port, "GET /healthz"))
            read_reply(sock)
            server.stop()
    with serving(None, port=port) as server:
        assert server.port == port


@pytest.mark.slow
def test_a_program_that_does_not_answer_is_given_up() -> None:
    with serving(None) as server, connect(server.port) as sock:
        sock.sendall(request(server.port, "GET /api/v1/locks"))
        taken = server.next_request(20)
        assert taken is not None
        reply = read_reply(sock)
        assert reply.status == 504
        reply.problem()
        assert server.answer(taken[0], 200, "text/plain", b"too late") is False


@pytest.mark.slow
@pytest.mark.parametrize("part", ["line", "headers", "body"])
def test_dribbling_clients_are_cut_off(port: int, part: str) -> None:
    start = {
        "line": b"GET /",
        "headers": request(port, "GET /")[:-2],
        "body": request(port, "POST /api/v1/runs", JSON, "Content-Length: 4000"),
    }[part]
    began = time.monotonic()
    with connect(port) as sock:
        sock.sendall(start)
        sock.settimeout(1)
        while time.monotonic() - began < 60:
            try:
                if not send_all(sock, b"a") or not sock.recv(1000):
                    break
            except TimeoutError:
                continue
            except ConnectionResetError:
                break
        else:
            pytest.fail("still connected after 60 s")
    assert time.monotonic() - began > 5, "cut off without having been given time"


def test_a_forked_child_neither_serves_nor_disturbs() -> None:
    code = """
        import contextlib, http.client, os, warnings
        from locklab import _core
        from locklab.errors import LocklabError
        warnings.simplefilter("ignore")
        options = {"host": "127.0.0.1", "port": 0, "rate_hz": 5.0, "max_clients": 8}
        server = _core.Server(options)
        open_one = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        open_one.request("GET", "/healthz")
        open_one.getresponse().read()
        port = server.port
        for declare in (True, False):
            pid = os.fork()
            if pid == 0:
                if declare:
                    _core.after_fork_child()
                    links = []
                    for fd in os.listdir("/proc/self/fd"):
                        with contextlib.suppress(FileNotFoundError):  # listdir's own
                            links.append(os.readlink(f"/proc/self/fd/{fd}"))
                    # the client's end of open_one is the child's as well
                    assert sum(link.startswith("socket:") for link in links) == 1, links
                for call in (server.stop, server.stats, lambda: server.next_request(0)):
                    try:
                        call()
                    except LocklabError:
                        pass
                own = _core.Server(options)
                assert own.port != port
                own.stop()
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            for connection in (open_one, http.client.HTTPConnection("127.0.0.1", port, timeout=20)):
                connection.request("GET", "/healthz")
                assert connection.getresponse().read() == b"ok\\n"
        server.stop()
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60, env=os.environ
    )


def test_the_client_may_go_before_the_answer() -> None:
    with serving(None) as server:
        with connect(server.port) as sock:
            sock.sendall(request(server.port, "GET /api/v1/locks"))
            taken = server.next_request(20)
        assert taken is not None
        server.answer(taken[0], 200, "application/json", b"{}")
        assert exchange(server.port, request(server.port, "GET /healthz")).status == 200


def test_statistics_count() -> None:
    with serving() as server:
        before = server.stats()
        assert before["requests"] == before["refused"] == 0
        ask(server.port, "GET /")
        ask(server.port, "GET /nowhere")
        deadline = time.monotonic() + 20
        while server.stats()["clients"] and time.monotonic() < deadline:
            time.sleep(0.01)
        after = server.stats()
        assert (after["requests"], after["refused"], after["clients"]) == (2, 1, 0)
        assert after["cpu_ns"] > 0

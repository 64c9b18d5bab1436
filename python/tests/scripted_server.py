"""A real HTTP server on loopback whose answers, and failures, a test writes down: cut connections, silence, rate limits."""

from __future__ import annotations

import json
import socket
import struct
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Type, Union
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    # The connection is reset after so many bytes of the body, of the length that was promised.
    cut_after: Optional[int] = None
    # Nothing is answered: the connection is reset once the request was read.
    is_reset: bool = False


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    query: Tuple[Tuple[str, str], ...]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Script = Union[Reply, Callable[[Seen], Reply]]
RESET = Reply(is_reset=True)


def answer(value: object, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status, json.dumps(value).encode(), {"content-type": "application/json", **named})


def problem(status: int, code: str, **more: object) -> Reply:
    value = {
        "type": "about:blank",
        "title": code,
        "status": status,
        "code": code,
        "detail": f"it is {code}",
        "requestId": "r-1",
    }
    headers = {"content-type": "application/problem+json"}
    retry_after = more.pop("retry_after", None)
    if retry_after is not None:
        headers["retry-after"] = str(retry_after)
    return Reply(status, json.dumps({**value, **more}).encode(), headers)


class ScriptedServer:
    """Gives the replies in their order; a request too many is answered with 500, and seen."""

    def __init__(self) -> None:
        self.seen: List[Seen] = []
        self._script: List[Script] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def will(self, *script: Script) -> None:
        self._script.extend(script)

    def rest(self) -> int:
        return len(self._script)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply_to(self, seen: Seen) -> Reply:
        with self._lock:
            self.seen.append(seen)
            script = (
                self._script.pop(0) if self._script else problem(500, "internal", detail=f"unexpected: {seen.path}")
            )
        return script(seen) if callable(script) else script

    def _handler(self) -> Type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def _any(self) -> None:
                self.close_connection = _serve(owner, self) or self.close_connection

            do_GET = do_POST = do_PUT = do_DELETE = _any

        return Handler


def _serve(owner: ScriptedServer, handler: BaseHTTPRequestHandler) -> bool:
    """-> whether the connection is over."""
    reply = owner.reply_to(_seen(handler))
    if reply.is_reset:
        _reset(handler.connection)
        return True
    handler.send_response(reply.status)
    for name, value in reply.headers.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(reply.body)))
    handler.end_headers()
    handler.wfile.write(reply.body if reply.cut_after is None else reply.body[: reply.cut_after])
    handler.wfile.flush()
    if reply.cut_after is not None:
        # Not reset: what was written would be thrown away on its way.
        handler.connection.shutdown(socket.SHUT_RDWR)
    return reply.cut_after is not None


def _seen(handler: BaseHTTPRequestHandler) -> Seen:
    parts = urlsplit(handler.path)
    headers: Dict[str, str] = {name.lower(): value for name, value in handler.headers.items()}
    body = handler.rfile.read(int(headers.get("content-length", "0")))
    return Seen(handler.command, parts.path, tuple(parse_qsl(parts.query, keep_blank_values=True)), headers, body)


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()

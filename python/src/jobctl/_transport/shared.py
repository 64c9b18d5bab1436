from __future__ import annotations

from typing import Any, Dict, Mapping

import httpx

from .._core.address import must_be_private, must_not_lead_back
from .._core.effects import Answer, ConnectionCut, FileBody, Request
from .._core.uploads import size_of
from ..version import VERSION

CONNECT_TIMEOUT_S = 10.0
USER_AGENT = f"jobctl-python/{VERSION}"
# Servers close idle connections; a request that meets that is lost. Node's server waits for 5 s.
LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=2.0)
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)


def arguments(base: str, request: Request, is_streamed: bool) -> Dict[str, Any]:
    """Of httpx's `build_request`, without the content."""
    url = request.path if request.is_elsewhere else base + request.path
    must_be_private(url)
    must_not_lead_back(url, base)
    headers: Dict[str, str] = {"accept": "application/json", "user-agent": USER_AGENT, **request.headers}
    if is_streamed:
        # A compressed stream would come in lumps.
        headers["accept-encoding"] = "identity"
    if isinstance(request.body, FileBody):
        headers["content-length"] = str(size_of(request.body))
    timeout = httpx.Timeout(request.read_timeout_s, connect=CONNECT_TIMEOUT_S)
    query = list(request.query) or None
    return {"method": request.method, "url": url, "params": query, "headers": headers, "timeout": timeout}


def cut_of(error: httpx.TransportError) -> ConnectionCut:
    return ConnectionCut(str(error) or type(error).__name__, was_sent=not isinstance(error, NOT_SENT))


def answer_of(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    return Answer(status, {name.lower(): value for name, value in headers.items()}, body)

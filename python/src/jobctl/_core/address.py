from __future__ import annotations

import ipaddress
import os
from typing import Optional
from urllib.parse import urlsplit

from ..errors import ConfigurationError

EXAMPLE = "such as https://jobctl.example.org"

SERVER_VARIABLE = "JOBCTL_SERVER"


def server_address(given: Optional[str]) -> str:
    """Without a slash at its end. Raises ConfigurationError unless it is https, or http to this computer."""
    url = os.environ.get(SERVER_VARIABLE, "") if given is None else given
    if url == "":
        raise ConfigurationError(f"url: no server is named, and {SERVER_VARIABLE} is not set", remedy=EXAMPLE)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"url: {url!r} is no address of a server", remedy=EXAMPLE)
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise ConfigurationError(f"url: {url!r} has more than scheme, host, port and path")
    must_be_private(url)
    return url.rstrip("/")


def must_be_private(url: str) -> None:
    """A token, or a URL that carries rights, is sent over http to this computer alone."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ConfigurationError(
            f"url: {parts.scheme}://{parts.netloc} would show your token to the network", remedy="use https://"
        )


def must_not_lead_back(url: str, server: str) -> None:
    """A server on another computer has nothing sent to ports of this one."""
    host, named_by = (urlsplit(one).hostname or "" for one in (url, server))
    if is_loopback(host) and not is_loopback(named_by):
        raise ConfigurationError(f"url: {named_by} names {host}, which is this computer: nothing is sent there")


def is_foreign_store(url: str) -> bool:
    """https to another host than Cloud Storage's: a server could name any of the user's network."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return parts.scheme == "https" and not host.endswith(".googleapis.com") and not is_loopback(host)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

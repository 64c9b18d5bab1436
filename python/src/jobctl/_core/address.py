from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from ..errors import ConfigurationError


def server_address(url: str) -> str:
    """Without a slash at its end. Raises ConfigurationError unless it is https, or http to this computer."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"url: {url!r} is no address of a server", remedy="such as https://jobctl.example.org")
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


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

"""
ID tokens for the server: `Client(token=from_cli())`.

A source is any callable without arguments that returns a token. Those made here keep a token until a minute before its expiry,
and get another one after that, or if the server refuses it.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Callable, List, Optional, Sequence, Union

import httpx

from .errors import TokenUnavailable

TOKEN_VARIABLE = "JOBCTL_ID_TOKEN"
METADATA_HOST = "metadata.google.internal"
EARLY_S = 60.0
TOOL_TIMEOUT_S = 60.0


class CachedToken:
    """Calls `get` only if there is no token that is good for a minute. Safe in threads."""

    def __init__(self, get: Callable[[], str]) -> None:
        self._get = get
        self._lock = threading.Lock()
        self._token: Optional[str] = None

    def __call__(self) -> str:
        with self._lock:
            if self._token is None or expires_at(self._token) - EARLY_S < time.time():
                self._token = _checked(self._get())
            return self._token

    def forget(self) -> None:
        """The server has refused it."""
        with self._lock:
            self._token = None


def from_cli(context: Optional[str] = None, *, command: Sequence[str] = ("jobctl",)) -> CachedToken:
    """The login of `jobctl login`, by `jobctl login --print-token`. `command`: such as ("npx", "jobctl")."""
    words: List[str] = [*command, "login", "--print-token"]
    if context is not None:
        words += ["--context", context]
    return CachedToken(lambda: _printed(words, "log in with `jobctl login`"))


def from_gcloud(*, audience: Optional[str] = None) -> CachedToken:
    """Google's `gcloud auth print-identity-token`. `audience` works for service accounts alone."""
    words = ["gcloud", "auth", "print-identity-token", "--quiet"]
    if audience is not None:
        words.append(f"--audiences={audience}")
    return CachedToken(lambda: _printed(words, "log in with `gcloud auth login`"))


def from_env(variable: str = TOKEN_VARIABLE) -> Callable[[], str]:
    """Read anew for each call."""

    def get() -> str:
        text = os.environ.get(variable, "")
        if text == "":
            raise TokenUnavailable(f"the variable {variable} holds no token", remedy=f"export {variable}=...")
        return _checked(text)

    return get


def from_file(path: "Union[str, os.PathLike[str]]") -> Callable[[], str]:
    """Read anew for each call: Kubernetes renews projected tokens in their file."""

    def get() -> str:
        try:
            return _checked(Path(path).read_text(encoding="ascii"))
        except (OSError, UnicodeDecodeError) as error:
            raise TokenUnavailable(f"{os.fspath(path)}: the token cannot be read: {error}") from error

    return get


def from_metadata(audience: str, *, account: str = "default") -> CachedToken:
    """Of the service account of a Google VM, GKE pod or Cloud Run service, by Google's metadata server. GCE_METADATA_HOST names another."""

    def get() -> str:
        host = os.environ.get("GCE_METADATA_HOST", METADATA_HOST)
        url = f"http://{host}/computeMetadata/v1/instance/service-accounts/{account}/identity"
        query = {"audience": audience, "format": "full"}
        try:
            # Past proxies: the metadata server is this machine's own.
            with httpx.Client(trust_env=False, timeout=10.0) as http:
                answer = http.get(url, params=query, headers={"metadata-flavor": "Google"})
        except httpx.HTTPError as error:
            raise TokenUnavailable(
                f"{url}: no answer: {error}", remedy="a metadata server is on machines of Google Cloud alone"
            ) from error
        if answer.status_code != 200:
            raise TokenUnavailable(f"{url}: answered with status {answer.status_code}: {answer.text[:200]}")
        return answer.text

    return CachedToken(get)


def expires_at(token: str) -> float:
    """Seconds since 1970, by its own word, which nobody has verified here. Of what is no JWT: never."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return float(claims["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        return float("inf")


def _printed(words: Sequence[str], remedy: str) -> str:
    line = " ".join(words)
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TokenUnavailable(f"{line}: {error}", remedy=remedy) from error
    if done.returncode != 0:
        raise TokenUnavailable(f"{line}: exit code {done.returncode}: {done.stderr.strip()[-500:]}", remedy=remedy)
    return done.stdout


def _checked(text: str) -> str:
    token = text.strip()
    # It goes into a header: one line of visible characters.
    if token == "" or not token.isascii() or not token.isprintable() or " " in token:
        raise TokenUnavailable(f"what should be a token is {len(token)} characters of something else")
    return token

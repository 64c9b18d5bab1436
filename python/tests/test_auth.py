from __future__ import annotations

import base64
import json
import stat
import time
from pathlib import Path
from typing import Any, List

import pytest
from scripted_server import Reply, ScriptedServer

from jobctl import auth
from jobctl.errors import TokenUnavailable


def jwt(lifetime_s: float, name: str = "") -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'RS256'})}.{part({'exp': time.time() + lifetime_s, 'n': name})}.c2ln"


def program(place: Path, text: str) -> None:
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(place.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_a_token_is_kept_until_a_minute_before_its_end() -> None:
    given: List[str] = []

    def get() -> str:
        given.append(jwt(3600 if len(given) else 30, str(len(given))))
        return given[-1]

    source = auth.CachedToken(get)
    assert [source(), source(), source()] == [given[0], given[1], given[1]]
    source.forget()
    assert source() == given[2]


def test_the_command_line_is_asked_for_its_login(tools: Path) -> None:
    token = jwt(3600)
    program(tools / "jobctl", f'[ "$*" = "login --print-token --context prod" ] && echo {token}')
    assert auth.from_cli("prod")() == token
    with pytest.raises(TokenUnavailable, match="jobctl login --print-token: exit code 1"):
        auth.from_cli()()


def test_what_the_command_line_says_is_shown_and_what_to_do(tools: Path) -> None:
    program(tools / "jobctl", "echo 'not logged in' >&2; exit 3")
    with pytest.raises(TokenUnavailable, match="exit code 3: not logged in\nlog in with `jobctl login`"):
        auth.from_cli()()


def test_a_command_that_is_not_installed_is_named(tools: Path) -> None:
    with pytest.raises(TokenUnavailable, match="npx-not-there login --print-token: .*No such file"):
        auth.from_cli(command=["npx-not-there"])()


def test_gcloud_is_asked_with_the_audience(tools: Path) -> None:
    token = jwt(3600)
    program(tools / "gcloud", f'[ "$*" = "auth print-identity-token --quiet --audiences=aud" ] && echo {token}')
    assert auth.from_gcloud(audience="aud")() == token


@pytest.mark.parametrize("text", ["", "two words", "a\nb", "tök", "a\x1b"])
def test_what_cannot_stand_in_a_header_is_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "token").write_text(text)
    monkeypatch.setenv("JOBCTL_ID_TOKEN", text)
    for source in (auth.from_file(tmp_path / "token"), auth.from_env(), auth.CachedToken(lambda: text)):
        with pytest.raises(TokenUnavailable) as failure:
            source()
        # It may be a token with a letter too many.
        assert text == "" or text not in str(failure.value)


def test_files_and_variables_are_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from_file, from_env = auth.from_file(tmp_path / "t"), auth.from_env("X_TOKEN")
    for token in (jwt(1), jwt(2)):
        (tmp_path / "t").write_text(token + "\n")
        monkeypatch.setenv("X_TOKEN", token)
        assert (from_file(), from_env()) == (token, token)


def test_a_missing_file_or_variable_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOBCTL_ID_TOKEN", raising=False)
    with pytest.raises(TokenUnavailable, match="JOBCTL_ID_TOKEN holds no token"):
        auth.from_env()()
    with pytest.raises(TokenUnavailable, match="gone: the token cannot be read"):
        auth.from_file(tmp_path / "gone")()


def test_the_metadata_server_is_asked_for_the_audience(server: ScriptedServer, monkeypatch: Any) -> None:
    token = jwt(3600)
    monkeypatch.setenv("GCE_METADATA_HOST", server.url.partition("://")[2])
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    server.will(Reply(200, token.encode()), Reply(404, b"no service account"))
    source = auth.from_metadata("https://jobctl.example.org")
    assert [source(), source()] == [token, token]
    (seen,) = server.seen
    assert seen.path == "/computeMetadata/v1/instance/service-accounts/default/identity"
    assert dict(seen.query) == {"audience": "https://jobctl.example.org", "format": "full"}
    assert seen.headers["metadata-flavor"] == "Google"
    with pytest.raises(TokenUnavailable, match="status 404: no service account"):
        auth.from_metadata("x")()


def test_off_google_cloud_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:1")
    with pytest.raises(TokenUnavailable, match="is on machines of Google Cloud alone"):
        auth.from_metadata("x")()

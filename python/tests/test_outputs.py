"""Outputs: hosts may have forged their manifests, and the store may be wrong."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import unquote

import pytest
from callers import Caller
from scripted_server import Reply, ScriptedServer, Seen, answer, problem

from jobctl import errors
from jobctl._core import outputs as core

BINARY = {"content-type": "application/octet-stream"}


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def file(path: str, content: bytes, **more: object) -> Dict[str, object]:
    return {"path": path, "sha256": sha(content), "size": len(content), "mtime": 1.5, "mode": "640", **more}


def manifest(*entries: Dict[str, object], **header: object) -> bytes:
    files = sum("sha256" in one for one in entries)
    first = {"v": 1, "state": "ended", "at": 1000, "files": files, "bytes": 0, **header}
    return "\n".join(json.dumps(one) for one in (first, *entries)).encode() + b"\n"


class Store:
    """The two routes of objects, on objects in memory."""

    def __init__(self, objects: Dict[str, bytes]) -> None:
        self.objects = objects
        self.reads: List[str] = []

    def __call__(self, seen: Seen) -> Reply:
        query = dict(seen.query)
        if seen.path == "/v1/objects":
            names = sorted(name for name in self.objects if name.startswith(query["prefix"]))
            found = [name for name in names if name >= query.get("startOffset", "")][: int(query["most"])]
            rows = [{"name": n, "size": len(self.objects[n]), "generation": "1", "updatedAt": 0} for n in found]
            return answer({"objects": rows})
        name = unquote(query["name"])
        self.reads.append(name)
        if name not in self.objects:
            return problem(404, "not-found")
        return Reply(200, self.objects[name][int(query["start"]) : int(query["end"])], BINARY)


@pytest.fixture
def stored(server: ScriptedServer) -> Callable[..., Store]:
    def make(manifests: Dict[str, bytes], *contents: bytes) -> Store:
        objects = {f"jobs/a/outputs/manifests/{name}": text for name, text in manifests.items()}
        objects.update({f"jobs/a/outputs/contents/{sha(one)}": one for one in contents})
        store = Store(objects)
        server.will(*[store] * 200)
        return store

    return make


def test_the_newest_attempt_that_stored_anything_is_listed(call: Caller, stored: Any) -> None:
    one = manifest(file("a/b", b"x"), {"path": "l", "link": "a/b"}, {"path": "e", "folder": True}, problems=["c: gone"])
    stored({"a1/host-0.jsonl": one, "a2/host-0.jsonl": one, "a10/host-0.jsonl": manifest()})
    found = call("outputs", "a")
    assert found.attempts == (1, 2, 10)
    (host,) = found.hosts
    assert (host.attempt, host.host, host.state, host.problems) == (2, 0, "ended", ("c: gone",))
    assert [type(entry).__name__ for entry in host.entries] == ["OutputFile", "OutputLink", "OutputFolder"]
    assert call("outputs", "a", attempt=10).hosts[0].entries == ()


def test_a_listing_of_more_than_a_page_is_read_to_its_end(call: Caller, stored: Any) -> None:
    stored({f"a1/host-{host}.jsonl": manifest() for host in range(core.PAGE + 7)})
    assert len(call("outputs", "a", attempt=2).hosts) == 0
    assert call("outputs", "a", attempt=2).attempts == (1,)
    assert len(call("outputs", "a", attempt=1, hosts=[3, 1006]).hosts) == 2


def test_hosts_that_are_asked_for_have_folders_however_many_stored_files(
    call: Caller, stored: Any, tmp_path: Path
) -> None:
    stored({"a1/host-0.jsonl": manifest(), "a1/host-1.jsonl": manifest(file("own", b"x"))}, b"x")
    call("download", "a", tmp_path / "two", hosts=[0, 1])
    assert (tmp_path / "two/host-1/own").read_bytes() == b"x"
    call("download", "a", tmp_path / "one", hosts=[1])
    assert (tmp_path / "one/own").read_bytes() == b"x"


def test_files_come_whole_with_their_rights_and_times(call: Caller, stored: Any, tmp_path: Path) -> None:
    big = os.urandom(core.PIECE_BYTES + 5)
    entries: List[Dict[str, object]] = [
        file("in/big", big),
        file("empty", b""),
        {"path": "in/link", "link": "big"},
        {"path": "e", "folder": True},
    ]
    stored({"a1/host-0.jsonl": manifest(*entries)}, big, b"")
    got = call("download", "a", tmp_path)
    assert (tmp_path / "in/big").read_bytes() == big
    assert (tmp_path / "in/link").read_bytes() == big
    assert (tmp_path / "e").is_dir()
    facts = (tmp_path / "in/big").stat()
    assert (facts.st_mode & 0o777, facts.st_mtime) == (0o640, 1.5)
    assert got.files == (tmp_path / "in/big", tmp_path / "empty")
    assert got.bytes == len(big)


def test_hosts_have_folders_if_there_are_several(call: Caller, stored: Any, tmp_path: Path) -> None:
    stored({"a1/host-0.jsonl": manifest(file("f", b"0")), "a1/host-1.jsonl": manifest(file("f", b"1"))}, b"0", b"1")
    call("download", "a", tmp_path)
    assert [(tmp_path / f"host-{host}/f").read_bytes() for host in (0, 1)] == [b"0", b"1"]


def test_what_is_here_is_not_read_again(call: Caller, stored: Any, tmp_path: Path) -> None:
    store = stored({"a1/host-0.jsonl": manifest(file("f", b"content"))}, b"content")
    call("download", "a", tmp_path)
    store.reads.clear()
    assert call("download", "a", tmp_path).bytes == 0
    assert store.reads == ["jobs/a/outputs/manifests/a1/host-0.jsonl"]
    # Another content of the same length is.
    (tmp_path / "f").write_bytes(b"CONTENT")
    call("download", "a", tmp_path)
    assert (tmp_path / "f").read_bytes() == b"content"


def test_a_download_that_was_cut_goes_on_where_it_was(
    call: Caller, stored: Any, tmp_path: Path, server: ScriptedServer
) -> None:
    big = os.urandom(2 * core.PIECE_BYTES + 3)
    store = stored({"a1/host-0.jsonl": manifest(file("f", big))}, big)
    content = f"jobs/a/outputs/contents/{sha(big)}"
    whole = store.objects[content]
    store.objects[content] = whole[: core.PIECE_BYTES]
    with pytest.raises(errors.DownloadFailed, match=f"the store has {core.PIECE_BYTES} bytes of it"):
        call("download", "a", tmp_path)
    assert not (tmp_path / "f").exists()
    store.objects[content] = whole
    assert call("download", "a", tmp_path).bytes == len(big) - core.PIECE_BYTES
    assert (tmp_path / "f").read_bytes() == big
    assert [one.name for one in tmp_path.iterdir()] == ["f"]


def test_a_wrong_content_never_stands_under_the_name(call: Caller, stored: Any, tmp_path: Path) -> None:
    store = stored({"a1/host-0.jsonl": manifest(file("f", b"right"), file("g", b"good"))}, b"right", b"good")
    store.objects[f"jobs/a/outputs/contents/{sha(b'right')}"] = b"wrong"
    with pytest.raises(errors.DownloadFailed, match="host 0: f: what is stored is not what its host stored"):
        call("download", "a", tmp_path)
    # The others were brought.
    assert sorted(one.name for one in tmp_path.iterdir()) == ["g"]


def test_nothing_stored_is_not_found(call: Caller, stored: Any, tmp_path: Path) -> None:
    stored({"a1/host-0.jsonl": manifest()})
    with pytest.raises(errors.NotFound, match="attempts with outputs: 1"):
        call("download", "a", tmp_path)
    assert list(tmp_path.iterdir()) == []


WRONG: Dict[str, List[Dict[str, object]]] = {
    "outside of the folder": [file("../x", b"")],
    "outside of the folder ": [file("/etc/x", b"")],
    "a//b": [file("a//b", b"")],
    "a name that is none": [file("a\0b", b"")],
    "leads out of the folder": [{"path": "l", "link": "../x"}],
    "leads out of the folder ": [{"path": "d/l", "link": "a/../../../x"}],
    "to '/etc/passwd'": [{"path": "l", "link": "/etc/passwd"}],
    "lists 'a' twice": [file("a", b""), {"path": "a", "link": "b"}],
    "is below 'l', which is no folder": [{"path": "l", "link": "d"}, file("l/x", b"")],
    "no SHA-256": [file("a", b"", sha256="../../etc/passwd")],
    "is no size": [file("a", b"", size=-1)],
    "is no time": [file("a", b"", mtime=1e300)],
}


@pytest.mark.parametrize("says, entries", WRONG.items())
def test_a_manifest_that_leads_elsewhere_writes_nothing(
    call: Caller, stored: Any, tmp_path: Path, says: str, entries: List[Dict[str, object]]
) -> None:
    stored({"a1/host-0.jsonl": manifest(*entries)}, b"")
    with pytest.raises(errors.DownloadFailed, match=says.strip()) as failure:
        call("download", "a", tmp_path / "here")
    assert "jobs/a/outputs/manifests/a1/host-0.jsonl" in str(failure.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["d", "d/f", None])
def test_a_link_that_is_here_is_not_written_through(
    call: Caller, stored: Any, tmp_path: Path, place: Optional[str]
) -> None:
    stored({"a1/host-0.jsonl": manifest(file("d/f", b"content"))}, b"content")
    outside, here = tmp_path / "outside", tmp_path / "here"
    outside.mkdir()
    here.mkdir()
    if place == "d":
        (here / "d").symlink_to(outside)
        with pytest.raises(errors.DownloadFailed, match="is a symbolic link: nothing is written through it"):
            call("download", "a", here)
    elif place == "d/f":
        (here / "d").mkdir()
        (here / "d/f").symlink_to(outside / "f")
        call("download", "a", here)
        assert (here / "d/f").read_bytes() == b"content"
        assert not (here / "d/f").is_symlink()
    else:
        # A part of ours, forged.
        (here / "d").mkdir()
        key = sha(f"{sha(b'content')} d/f".encode())[:24]
        (here / f"d/.jobctl-{key}.part").symlink_to(outside / "f")
        with pytest.raises(errors.DownloadFailed, match="host 0: "):
            call("download", "a", here)
    assert list(outside.iterdir()) == []

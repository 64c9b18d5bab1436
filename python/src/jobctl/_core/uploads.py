"""Local files into the store of the server, by their hash."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Dict, List, Mapping, Tuple, Union

from ..errors import ConfigurationError, ConnectionLost, FileChanged
from ..models import Uploads, UploadTarget
from . import routes
from .address import is_foreign_store
from .calls import Calls, request_of
from .effects import FileBody, Operation, Request, do

Content = Union[bytes, "PathLike[str]"]
Files = Mapping[str, Content]
Body = Union[bytes, FileBody]

# Of one request, by the contract.
MOST_FILES = 1000
PIECE_BYTES = 1 << 20
# Bytes that are sent and not answered yet may be stored for a while.
UPLOAD_TIMEOUT_S = 600.0


def upload(calls: Calls, files: Files) -> Operation[Dict[str, str]]:
    """Only what the store does not have is sent. -> path: SHA-256"""
    bodies: Dict[str, Tuple[str, Body]] = {}
    for path, content in files.items():
        bodies[path] = yield from do(lambda path=path, content=content: _hashed(path, content))  # type: ignore[misc]
    entries = [{"path": path, "sha256": sha, "size": size_of(body)} for path, (sha, body) in bodies.items()]
    for start in range(0, len(entries), MOST_FILES):
        targets = yield from _targets(calls, entries[start : start + MOST_FILES])
        for target in targets:
            if target.state == "wanted":
                yield from _send(calls, target, *bodies[target.path])
    return {path: sha for path, (sha, _) in bodies.items()}


def _targets(calls: Calls, entries: List[Dict[str, object]]) -> Operation[Tuple[UploadTarget, ...]]:
    answer = yield from calls.ask(routes.UPLOADS, Uploads, body={"files": entries})
    return answer.files


def _send(calls: Calls, target: UploadTarget, sha256: str, body: Body) -> Operation[None]:
    if target.url is None or target.upload is None or is_foreign_store(target.url):
        yield from calls.send(_put_through(target, sha256, body))
        return
    try:
        yield from calls.send(_put(target.url, body))
    except ConnectionLost:
        # The server may reach a store that this computer does not.
        yield from calls.send(_put_through(target, sha256, body))
        return
    done = {"path": target.path, "sha256": sha256, "upload": target.upload}
    # The server reads the file that it compares.
    yield from calls.send(replace(request_of(routes.COMPLETE_UPLOAD, body=done), read_timeout_s=UPLOAD_TIMEOUT_S))


def _put(url: str, body: Body) -> Request:
    """From the first byte on, also where some of them came before. The address is the permission: no token goes with it."""
    size = size_of(body)
    headers = {"content-range": f"bytes 0-{size - 1}/{size}"}
    return Request("PUT", url, headers=headers, body=body, read_timeout_s=UPLOAD_TIMEOUT_S)


def _put_through(target: UploadTarget, sha256: str, body: Body) -> Request:
    request = request_of(
        routes.UPLOAD_CONTENT,
        query=(("path", target.path), ("sha256", sha256)),
        headers={"content-type": "application/octet-stream"},
    )
    return replace(request, body=body, read_timeout_s=UPLOAD_TIMEOUT_S)


def size_of(body: Body) -> int:
    return body.size if isinstance(body, FileBody) else len(body)


def _hashed(path: str, content: Content) -> Tuple[str, Body]:
    if isinstance(content, (bytes, bytearray, memoryview)):
        whole = bytes(content)
        return hashlib.sha256(whole).hexdigest(), whole
    place = Path(content)
    try:
        return _hashed_file(place)
    except IsADirectoryError:
        raise ConfigurationError(
            f"files[{path!r}]: {place} is a folder",
            remedy="give the path of a packed file (bundles: tar.gz), or submit by `jobctl submit`, which packs folders",
        ) from None
    except OSError as error:
        raise ConfigurationError(f"files[{path!r}]: {place} cannot be read: {error.strerror}") from error


def _hashed_file(place: Path) -> Tuple[str, FileBody]:
    digest = hashlib.sha256()
    size = 0
    with place.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
    sha256 = digest.hexdigest()
    return sha256, FileBody(place, size, sha256)


class FileReader:
    """
    The bytes of a FileBody, in pieces. The last piece is held back until the hash of all of them is known to be right: of a file
    that has changed never all bytes are sent, so that no store keeps them under the name of others.
    """

    def __init__(self, body: FileBody) -> None:
        self._body = body
        self._file = body.path.open("rb")
        self._digest = hashlib.sha256()
        self._left = body.size

    def read(self) -> bytes:
        """Empty at the end. Raises FileChanged."""
        piece = self._file.read(min(PIECE_BYTES, self._left))
        self._digest.update(piece)
        is_short = self._left > 0 and piece == b""
        self._left -= len(piece)
        if is_short or (self._left == 0 and self._digest.hexdigest() != self._body.sha256):
            raise FileChanged(f"{self._body.path}: has changed while it was uploaded; nothing was submitted")
        return piece

    def close(self) -> None:
        self._file.close()

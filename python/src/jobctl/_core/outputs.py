"""Outputs of a job: what is stored, and bringing it here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from ..errors import DownloadFailed, NotFound
from ..models import Objects, StoredObject
from ..outputs import Downloaded, HostOutputs, OutputFile, OutputFolder, Outputs
from . import routes
from .calls import Calls, request_of
from .effects import Operation, do
from .files import PartFile, SafeFolder, place_link
from .manifests import ManifestWrong, read_manifest

# Objects of one listing, and bytes of one read.
PAGE = 1000
PIECE_BYTES = 4 << 20

Choice = Tuple[Optional[int], Optional[Sequence[int]]]


def outputs(calls: Calls, job: str, choice: Choice) -> Operation[Outputs]:
    """Of the attempt chosen, or else of the newest that stored anything on the chosen hosts."""
    attempt, hosts = choice
    places = yield from _manifests(calls, job)
    attempts = tuple(sorted({number for number, _ in places}))
    for number in reversed(attempts) if attempt is None else (attempt,):
        chosen = [key for key in sorted(places) if key[0] == number and (hosts is None or key[1] in hosts)]
        read: List[HostOutputs] = []
        for key in chosen:
            read.extend((yield from _manifest(calls, places[key], key)))
        if attempt is not None or any(one.entries for one in read):
            return Outputs(tuple(read), attempts)
    return Outputs((), attempts)


def _manifests(calls: Calls, job: str) -> Operation[Dict[Tuple[int, int], str]]:
    prefix = f"jobs/{job}/outputs/manifests/"
    listed = yield from _list(calls, prefix)
    found = ((re.fullmatch(r"a(\d{1,9})/host-(\d{1,9})\.jsonl", one.name[len(prefix) :]), one.name) for one in listed)
    return {(int(match.group(1)), int(match.group(2))): name for match, name in found if match is not None}


def _list(calls: Calls, prefix: str) -> Operation[List[StoredObject]]:
    found: List[StoredObject] = []
    while True:
        # The object at the start offset comes again.
        query = (("prefix", prefix), ("startOffset", found.pop().name if found else None), ("most", PAGE))
        page = yield from calls.ask(routes.OBJECTS, Objects, query=query)
        found.extend(page.objects)
        if len(page.objects) < PAGE:
            return found


def _manifest(calls: Calls, name: str, key: Tuple[int, int]) -> Operation[List[HostOutputs]]:
    content = b""
    try:
        while len(content) % PIECE_BYTES == 0:
            # Not by the size that was listed: a host may have written a longer one since.
            piece = yield from _piece(calls, name, len(content), len(content) + PIECE_BYTES)
            content += piece
            if piece == b"":
                break
    except NotFound:
        # Behind its end, or removed since it was listed.
        if content == b"":
            return []
    try:
        return [read_manifest(content, *key)]
    except ManifestWrong as wrong:
        raise ManifestWrong(f"{name} {wrong.detail}", remedy=wrong.remedy) from None


def _piece(calls: Calls, name: str, at: int, size: int) -> Operation[bytes]:
    end = min(at + PIECE_BYTES, size)
    query = (("name", name), ("start", at), ("end", end))
    answer = yield from calls.send(request_of(routes.OBJECT_CONTENT, query=query))
    if len(answer.body) > end - at:
        raise DownloadFailed(f"{name}: {len(answer.body)} bytes came, and {end - at} were asked for")
    return answer.body


def download(calls: Calls, job: str, folder: Path, choice: Choice) -> Operation[Downloaded]:
    """Each of several hosts, asked for or found, gets a folder `host-N`. Files that are here with this content already stay."""
    found = yield from outputs(calls, job, choice)
    full = [one for one in found.hosts if one.entries]
    if not full:
        raise NotFound(
            f"job {job}: no outputs are stored of this choice",
            status=404,
            code="not-found",
            remedy=f"attempts with outputs: {', '.join(map(str, found.attempts)) or 'none'}",
        )
    files: List[Path] = []
    size = 0
    _, asked = choice
    is_by_host = len(asked or full) > 1
    for one in full:
        safe = SafeFolder(folder / f"host-{one.host}" if is_by_host else folder)
        yield from do(lambda safe=safe: safe.folder(""))  # type: ignore[misc]
        paths, read = yield from _download_host(calls, job, one, safe)
        files.extend(paths)
        size += read
    return Downloaded(full[0].attempt, tuple(files), size)


def _download_host(calls: Calls, job: str, host: HostOutputs, safe: SafeFolder) -> Operation[Tuple[List[Path], int]]:
    """Nothing lies below a link (`read_manifest`). A file that fails does not keep the others."""
    paths: List[Path] = []
    size = 0
    failures: List[str] = []
    for entry in host.entries:
        try:
            if isinstance(entry, OutputFile):
                path, read = yield from _download_file(calls, job, entry, safe)
                paths.append(path)
                size += read
            elif isinstance(entry, OutputFolder):
                yield from do(lambda name=entry.path: safe.folder(name))  # type: ignore[misc]
            else:
                yield from do(lambda link=entry: place_link(safe, link))  # type: ignore[misc]
        except (DownloadFailed, OSError, NotFound) as error:
            failures.append(f"host {host.host}: {error}")
    if failures:
        raise DownloadFailed("\n".join(failures))
    return paths, size


def _download_file(calls: Calls, job: str, file: OutputFile, safe: SafeFolder) -> Operation[Tuple[Path, int]]:
    part = yield from do(lambda: PartFile.beginning(safe, file))
    if part is None:
        return safe.path(file.path), 0
    name = f"jobs/{job}/outputs/contents/{file.sha256}"
    read = 0
    try:
        while part.at < file.size:
            piece = yield from _piece(calls, name, part.at, file.size)
            if piece == b"":
                raise DownloadFailed(f"{file.path}: the store has {part.at} bytes of it, not {file.size}")
            read += len(piece)
            yield from do(lambda piece=piece: part.write(piece))  # type: ignore[misc]
        return (yield from do(part.finish)), read
    finally:
        part.close()

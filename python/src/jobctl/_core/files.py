"""Files that are downloaded. Their names come from a store that others may write: nothing is written through a link."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import BinaryIO, Optional

from ..errors import DownloadFailed
from ..outputs import OutputFile, OutputLink
from .decode import EPOCH

READ_BYTES = 1 << 20


class SafeFolder:
    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        return self.root.joinpath(*name.split("/"))

    def place(self, name: str) -> Path:
        """The path here of a name with `/`, its folders made. Raises DownloadFailed if something is in the way."""
        self.folder("/".join(name.split("/")[:-1]))
        return self.path(name)

    def folder(self, name: str) -> None:
        # The caller named the root; it may be a link of theirs.
        self.root.mkdir(parents=True, exist_ok=True)
        place = self.root
        for part in filter(None, name.split("/")):
            place = place / part
            # Looked at each time: a folder that was one may be a link by now.
            _make_folder(place)


def _make_folder(place: Path) -> None:
    try:
        place.mkdir()
    except FileExistsError:
        mode = place.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise DownloadFailed(
                f"{place} is a symbolic link: nothing is written through it",
                remedy="remove it, or download elsewhere",
            ) from None
        if not stat.S_ISDIR(mode):
            raise DownloadFailed(f"{place} is there and is no folder") from None


def place_link(folder: SafeFolder, link: OutputLink) -> None:
    place = folder.place(link.path)
    if place.is_symlink():
        place.unlink()
    elif place.exists():
        raise DownloadFailed(f"{place} is there and is no symbolic link")
    place.symlink_to(link.target)


class PartFile:
    """What came of a file so far, beside its place: it is gone on with, and takes its place when its hash is right."""

    def __init__(self, folder: SafeFolder, file: OutputFile, place: Path, part: Path) -> None:
        self._folder = folder
        self._wanted = file
        self._place = place
        self._part = part
        self._digest = hashlib.sha256()
        self.at = 0
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        self._file: BinaryIO = os.fdopen(os.open(part, flags, 0o600), "r+b")
        while piece := self._file.read(min(READ_BYTES, file.size - self.at)):
            self._digest.update(piece)
            self.at += len(piece)

    @staticmethod
    def beginning(folder: SafeFolder, file: OutputFile) -> "Optional[PartFile]":
        """None if the file is here already."""
        place = folder.place(file.path)
        if _is_here(place, file):
            return None
        # By name and content: a part of another version is never gone on with.
        key = hashlib.sha256(f"{file.sha256} {file.path}".encode("utf-8", "surrogatepass")).hexdigest()
        return PartFile(folder, file, place, place.with_name(f".jobctl-{key[:24]}.part"))

    def write(self, piece: bytes) -> None:
        self._file.seek(self.at)
        self._file.write(piece)
        self._digest.update(piece)
        self.at += len(piece)

    def finish(self) -> Path:
        self._file.truncate(self._wanted.size)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.close()
        if self._digest.hexdigest() != self._wanted.sha256:
            # Of other content: it would never become whole.
            self._part.unlink()
            raise DownloadFailed(f"{self._wanted.path}: what is stored is not what its host stored (SHA-256)")
        self._part.chmod(self._wanted.mode)
        modified = (self._wanted.modified_at - EPOCH).total_seconds()
        os.utime(self._part, (modified, modified))
        # The content took its time, in which its folder may have become a link.
        self._folder.place(self._wanted.path)
        self._part.replace(self._place)
        return self._place

    def close(self) -> None:
        self._file.close()


def _is_here(place: Path, file: OutputFile) -> bool:
    try:
        found = place.lstat()
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(found.st_mode):
        raise DownloadFailed(f"{place} is a folder; a file of this name is stored")
    # A link is replaced, not followed.
    if not stat.S_ISREG(found.st_mode) or found.st_size != file.size:
        return False
    digest = hashlib.sha256()
    with place.open("rb") as content:
        while piece := content.read(READ_BYTES):
            digest.update(piece)
    return digest.hexdigest() == file.sha256

"""
Manifests of outputs, as hosts wrote them (docs/adr/0059). They may be forged: names that lead out of the folder are refused.
The same rules as domain/stored-outputs.ts; test/python/core.test.ts compares the two.
"""

from __future__ import annotations

import json
import math
import re
from datetime import datetime, timedelta
from typing import Any, Dict, Iterable, Tuple

from ..errors import DownloadFailed
from ..outputs import HostOutputs, OutputEntry, OutputFile, OutputFolder, OutputLink
from .decode import EPOCH


MOST_PART_BYTES = 255
MOST_NAME_BYTES = 4096
MOST_COUNT = 2**53 - 1


class ManifestWrong(DownloadFailed):
    """The sentence goes on behind the manifest's name."""


def read_manifest(content: bytes, attempt: int, host: int) -> HostOutputs:
    first, *lines = content.decode("latin-1").split("\n")
    header = _parsed(first)
    if _is_no_one(header.get("v")):
        raise ManifestWrong(f"is of version {header.get('v')!r}, not 1", remedy="update this package")
    state = header.get("state")
    if state not in ("running", "ended"):
        raise ManifestWrong(f"has state {state!r}")
    entries = tuple(_entry(line) for line in lines if line != "")
    files = sum(isinstance(one, OutputFile) for one in entries)
    if files != _number(header, "files"):
        raise ManifestWrong(f"is not whole: it lists {files} files of {header['files']}")
    _check_tree(entries)
    return HostOutputs(
        attempt,
        host,
        state,
        _time(header, "at", 1),
        files,
        _size(header, "bytes"),
        entries,
        _texts(header.get("unmatched")),
        _texts(header.get("problems")),
    )


def _entry(line: str) -> OutputEntry:
    value = _parsed(line)
    path = _safe_path(value.get("path"))
    if value.get("folder") is True:
        return OutputFolder(path)
    if "link" in value:
        return OutputLink(path, _safe_target(path, value["link"]))
    sha256, mode = value.get("sha256"), value.get("mode")
    if not isinstance(sha256, str) or re.fullmatch(r"[0-9a-f]{64}", sha256) is None:
        raise ManifestWrong(f"gives {path!r} no SHA-256")
    if "mode" in value and (not isinstance(mode, str) or re.fullmatch(r"[0-7]{1,4}", mode) is None):
        raise ManifestWrong(f"has mode {mode!r}, which is none")
    bits = int(mode, 8) & 0o777 if isinstance(mode, str) else 0o644
    return OutputFile(path, sha256, _size(value, "size"), _time(value, "mtime", 1000), bits)


def _safe_path(value: object) -> str:
    path = _shown_name(value) if isinstance(value, str) else ""
    if path == "" or "\0" in path:
        raise ManifestWrong(f"has a name that is none: {value!r}")
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise ManifestWrong(f"is refused: {path!r} would be written outside of the folder")
    sizes = [len(part.encode("utf-8", "surrogatepass")) for part in path.split("/")]
    if sum(sizes) + len(sizes) - 1 > MOST_NAME_BYTES or max(sizes) > MOST_PART_BYTES:
        raise ManifestWrong(f"is refused: {path[:MOST_PART_BYTES]!r} is longer than a file system takes")
    return path


def _safe_target(path: str, value: object) -> str:
    """A link may lead up as far as to the folder itself, and then to names: so it stays inside, whatever those are."""
    target = _shown_name(value) if isinstance(value, str) else ""
    parts = target.split("/")
    ups = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    are_names = target == "." or all(part not in ("", ".", "..") for part in parts[ups:])
    if target == "" or "\0" in target or ups > path.count("/") or not are_names:
        raise ManifestWrong(f"is refused: link {path!r} leads out of the folder, to {value!r}")
    return target


def _check_tree(entries: Iterable[OutputEntry]) -> None:
    """Raises if a path is there twice, or below another one."""
    # Sorted so, what is below a name follows it at once: no other character is less than NUL, which no name has.
    paths = sorted(entry.path.replace("/", "\0") for entry in entries)
    for above, path in zip(paths, paths[1:]):
        shown = path.replace("\0", "/")
        if path == above:
            raise ManifestWrong(f"is refused: it lists {shown!r} twice")
        if path.startswith(above + "\0"):
            raise ManifestWrong(f"is refused: {shown!r} is below {above.replace(chr(0), '/')!r}, which is no folder")


def _parsed(line: str) -> Dict[str, Any]:
    try:
        value = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list):
        return {}
    if not isinstance(value, dict):
        raise ManifestWrong(f"is no manifest of outputs: {line[:80]!r}")
    return value


def _no_number(name: str) -> None:
    raise ValueError(name)


def _is_no_one(value: object) -> bool:
    return isinstance(value, bool) or value != 1


def _number(value: Dict[str, Any], key: str) -> float:
    number = value.get(key)
    if isinstance(number, (int, float)) and not isinstance(number, bool) and abs(number) < 1e308:
        return number
    raise ManifestWrong(f"has {key} {number!r}, which is no number")


def _size(value: Dict[str, Any], key: str) -> int:
    number = _number(value, key)
    if number < 0 or number > MOST_COUNT or number != int(number):
        raise ManifestWrong(f"has {key} {number!r}, which is no size")
    return int(number)


def _time(value: Dict[str, Any], key: str, unit_ms: int) -> datetime:
    number = _number(value, key)
    try:
        return EPOCH + timedelta(milliseconds=math.floor(number * unit_ms + 0.5))
    except OverflowError:
        raise ManifestWrong(f"has {key} {number!r}, which is no time") from None


def _texts(value: object) -> Tuple[str, ...]:
    return tuple(_shown_name(one) for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _shown_name(text: str) -> str:
    """The text of a name's bytes, one character each. Bytes that are no UTF-8 are shown as %XX."""
    name = text.encode("utf-16-le", "surrogatepass")[::2]
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return re.sub(r"[^\x00-\x7f]", lambda one: f"%{ord(one.group()) & 0xFFFF:X}", text)

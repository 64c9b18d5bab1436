"""Server-sent events from bytes, however these are cut: WHATWG HTML, section 9.2.6."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Iterator, List


@dataclass(frozen=True)
class ServerEvent:
    name: str
    data: str
    # Of this or the last event that had one.
    id: str


class EventParser:
    """An event that is not ended by an empty line is never given."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""
        self._skips_line_feed = False
        self._name = ""
        self._data: List[str] = []
        self._id = ""

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        text = self._decoder.decode(piece)
        if self._skips_line_feed and text:
            text = text[1:] if text[0] == "\n" else text
            self._skips_line_feed = False
        # \r\n may be cut between its two characters.
        self._skips_line_feed = self._skips_line_feed or text.endswith("\r")
        *lines, self._rest = (self._rest + text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
        for line in lines:
            yield from self._line(line)

    def _line(self, line: str) -> Iterator[ServerEvent]:
        if line == "":
            yield from self._dispatch()
            return
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        elif field == "id" and "\0" not in value:
            self._id = value

    def _dispatch(self) -> Iterator[ServerEvent]:
        name, data = self._name or "message", self._data
        self._name, self._data = "", []
        if data:
            yield ServerEvent(name, "\n".join(data), self._id)

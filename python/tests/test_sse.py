from __future__ import annotations

from typing import List

import pytest

from jobctl._core.sse import EventParser, ServerEvent

TEXT = (
    "\ufeff: a comment\n\n"
    "event: stretch\nid: 1;0:3\ndata: one\r\ndata:two é\r\rdata: no name\n\n"
    "id: 2;\n\n"
    "unknown: x\ndata\n\nevent: end\ndata:  {}\n\nevent: never\ndata: ended\n"
).encode()
WANTED = [
    ServerEvent("stretch", "one\ntwo é", "1;0:3"),
    ServerEvent("message", "no name", "1;0:3"),
    ServerEvent("message", "", "2;"),
    ServerEvent("end", " {}", "2;"),
]


def parsed(pieces: List[bytes]) -> List[ServerEvent]:
    parser = EventParser()
    return [event for piece in pieces for event in parser.feed(piece)]


def test_events_are_as_the_standard_says() -> None:
    assert parsed([TEXT]) == WANTED


@pytest.mark.parametrize("size", range(1, len(TEXT)))
def test_however_the_bytes_are_cut(size: int) -> None:
    assert parsed([TEXT[at : at + size] for at in range(0, len(TEXT), size)]) == WANTED


@pytest.mark.parametrize("at", range(len(TEXT)))
def test_wherever_they_are_cut_once_with_an_empty_piece_between(at: int) -> None:
    assert parsed([TEXT[:at], b"", TEXT[at:]]) == WANTED

"""YAML 1.2 (core schema, merge keys) as JSON values. PyYAML finds the nodes; what they are is decided here."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Sequence, Tuple, Union

import yaml

from ..errors import JobFileError
from .kept_as_written import KEPT_AS_WRITTEN

Path = Tuple[Union[str, int], ...]
# Values, aliases counted each time: far beyond any job file, and little memory.
MOST_VALUES = 100_000
STANDARD = "tag:yaml.org,2002:"
NULL = re.compile(r"(?:~|[Nn]ull|NULL)?")
TRUE = re.compile(r"[Tt]rue|TRUE")
FALSE = re.compile(r"[Ff]alse|FALSE")
INT = re.compile(r"[-+]?[0-9]+")
OCTAL = re.compile(r"0o[0-7]+")
HEX = re.compile(r"0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class NodeLoader(yaml.SafeLoader):
    """Plain words keep no type of YAML 1.1: each is a text until `_plain_word` reads it."""

    yaml_implicit_resolvers: Dict[str, List[Tuple[str, "re.Pattern[str]"]]] = {}


def parse(text: str, name: str) -> Any:
    try:
        loader = NodeLoader(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise JobFileError(f"{name}: not YAML: {error}") from None
    except RecursionError:
        raise JobFileError(f"{name}: not YAML: it is nested too deeply") from None
    return None if node is None else Tree(name).value(node, ())


class Tree:
    def __init__(self, name: str) -> None:
        self._name = name
        self._values = 0
        self._open: List[int] = []

    def value(self, node: yaml.Node, path: Path) -> Any:
        self._values += 1
        if self._values > MOST_VALUES or id(node) in self._open:
            raise self._wrong(node, "its aliases (*) multiply beyond measure")
        self._open.append(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                self._must_be(node, "seq")
                return [self.value(one, (*path, at)) for at, one in enumerate(node.value)]
            return self._scalar(node, path)
        finally:
            self._open.pop()

    def _mapping(self, node: yaml.MappingNode, path: Path) -> Dict[str, Any]:
        self._must_be(node, "map")
        own: Dict[str, Any] = {}
        merged: Dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key == "<<" and key_node.style is None:
                for name, one in self._merged(value_node, path).items():
                    merged.setdefault(name, one)
                continue
            if key in own:
                raise self._wrong(key_node, f"the key {key!r} is there twice")
            own[key] = self.value(value_node, (*path, key))
        return {**merged, **own}

    def _merged(self, node: yaml.Node, path: Path) -> Dict[str, Any]:
        """Of several mappings the first has the last word."""
        found: Dict[str, Any] = {}
        for one in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(one, yaml.MappingNode):
                raise self._wrong(one, "<< wants a mapping, or a list of mappings")
            for name, value in self.value(one, path).items():
                found.setdefault(name, value)
        return found

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong(node, "a key must be a text")
        value = self._scalar(node, ())
        return value if isinstance(value, str) else _key_text(value)

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong(node, "a value that is none")
        if node.tag == f"{STANDARD}str" and (node.style is not None or _is_tagged_text(node)):
            return node.value
        self._must_be(node, "str", "null", "bool", "int", "float")
        value = _plain_word(node.value)
        if value is Ellipsis:
            raise self._wrong(node, f"{node.value} is no number that JSON has")
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return node.value if is_number and _keeps_text(path) else value

    def _must_be(self, node: yaml.Node, *kinds: str) -> None:
        if node.tag not in [STANDARD + kind for kind in kinds]:
            raise self._wrong(node, f"a tag (!) that plain YAML does not have: {node.tag}")

    def _wrong(self, node: yaml.Node, what: str) -> JobFileError:
        mark = node.start_mark
        return JobFileError(f"{self._name}:{mark.line + 1}:{mark.column + 1}: not YAML: {what}")


def _is_tagged_text(node: yaml.ScalarNode) -> bool:
    """`!!str 1`: the tag was written, so that the node does not begin with its value."""
    mark = node.start_mark
    return mark.buffer is not None and mark.buffer[mark.pointer : mark.pointer + 1] == "!"


def _plain_word(text: str) -> Any:
    """Ellipsis for a number that JSON does not have."""
    if NULL.fullmatch(text):
        return None
    if TRUE.fullmatch(text):
        return True
    if FALSE.fullmatch(text):
        return False
    if INT.fullmatch(text):
        return int(text)
    if OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if HEX.fullmatch(text):
        return int(text[2:], 16)
    if FLOAT.fullmatch(text):
        return float(text)
    return ... if NO_NUMBER.fullmatch(text) else text


def _key_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _keeps_text(path: Path) -> bool:
    """3.10 is not 3.1 there, and 007 is not 7."""
    return any(_matches(path, pattern) for pattern in KEPT_AS_WRITTEN)


def _matches(path: Path, pattern: Sequence[str]) -> bool:
    return len(path) == len(pattern) and all(
        word == part or (word == "*" and isinstance(part, str)) for word, part in zip(pattern, path)
    )

"""JSON answers as frozen dataclasses: `submittedAt: 0` becomes `submitted_at: datetime`."""

from __future__ import annotations

import base64
import binascii
import collections.abc
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import (
    Any,
    Dict,
    Hashable,
    Literal,
    Mapping,
    Tuple,
    Type,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from ..errors import UnexpectedAnswer

T = TypeVar("T")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# The field that holds all of the JSON object, with keys that this version does not know.
RAW = "raw"


def decode(model: Type[T], value: object, where: str) -> T:
    """
    Keys that the model does not know are left out, or kept in its field `raw`.

    Raises UnexpectedAnswer, with the place of the value that is missing or of another kind. `where` names the whole.
    """
    if not isinstance(value, dict):
        raise _unexpected(where, "an object", value)
    hints = _hints(cast(Hashable, model))
    given: Dict[str, Any] = {}
    for item in fields(cast(Any, model)):
        if item.name == RAW:
            given[RAW] = value
        elif (key := key_of(item)) in value:
            given[item.name] = _convert(hints[item.name], value[key], f"{where}.{key}")
        elif item.default is MISSING and item.default_factory is MISSING:
            raise _unexpected(f"{where}.{key}", "a value", MISSING)
    return model(**given)


def key_of(item: "Field[Any]") -> str:
    """Of a field, its key in JSON: in its metadata, or its own name in camel case."""
    key = item.metadata.get("key")
    if isinstance(key, str):
        return key
    first, *rest = item.name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def milliseconds(time: datetime) -> int:
    """Since 1970. A time without a zone is one of this computer."""
    return (time.astimezone(timezone.utc) - EPOCH) // timedelta(milliseconds=1)


@lru_cache(maxsize=None)
def _hints(model: Any) -> Dict[str, Any]:
    return get_type_hints(model)


def _convert(kind: Any, value: object, where: str) -> Any:
    if is_dataclass(kind):
        return decode(cast(Type[Any], kind), value, where)
    if kind is datetime:
        return EPOCH + timedelta(milliseconds=cast(float, _plain(float, value, where)))
    if kind is bytes:
        return _bytes(value, where)
    origin = get_origin(kind)
    if origin is Union:
        return None if value is None else _convert(_not_none(kind), value, where)
    if origin is tuple:
        listed = _plain(list, value, where)
        return tuple(_convert(get_args(kind)[0], one, f"{where}[{at}]") for at, one in enumerate(cast(Any, listed)))
    if origin is Literal:
        # A later server may have words that this version does not know: they pass.
        return _plain(str if isinstance(get_args(kind)[0], str) else int, value, where)
    if origin is collections.abc.Mapping:
        return _plain(dict, value, where)
    return _plain(kind, value, where)


def _plain(kind: Any, value: object, where: str) -> object:
    # True is an int to Python, not to JSON.
    is_good = not isinstance(value, bool) if kind in (int, float) else True
    wanted: Tuple[Type[Any], ...] = (int, float) if kind is float else (kind,)
    if kind is Any or (is_good and isinstance(value, wanted)):
        return value
    raise _unexpected(where, NAMES.get(kind, str(kind)), value)


NAMES: Mapping[object, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def _bytes(value: object, where: str) -> bytes:
    try:
        return base64.b64decode(cast(str, _plain(str, value, where)), validate=True)
    except binascii.Error:
        raise _unexpected(where, "bytes in base64", value) from None


def _not_none(kind: Any) -> Any:
    return next(one for one in get_args(kind) if one is not type(None))


def _unexpected(where: str, wanted: str, value: object) -> UnexpectedAnswer:
    sent = "nothing" if value is MISSING else repr(value)[:80]
    return UnexpectedAnswer(
        f"{where}: {wanted} is wanted, and the server sent {sent}",
        remedy="the server is of another version of jobctl, or no jobctl: compare its /openapi.json with this package's version",
    )

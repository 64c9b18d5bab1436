"""
What test/python/core.test.ts asks of the Python client's core: a JSON request on stdin, a JSON answer on stdout. Only Python's own
library is needed: the core does no I/O, and httpx is not imported.
"""

import base64
import dataclasses
import json
import sys
import types
import typing
from datetime import datetime
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "python/src/jobctl"
# The package without its __init__, which imports httpx.
package = types.ModuleType("jobctl")
package.__path__ = [str(SOURCE)]
sys.modules["jobctl"] = package

from jobctl import errors, models, pool_state  # noqa: E402
from jobctl._core import effects, manifests, outputs  # noqa: E402
from jobctl._core.decode import EPOCH, RAW, decode, key_of  # noqa: E402

# All of the core is imported but for what the client adds.
for name in ("changes", "jobs", "logs", "pools", "uploads"):
    __import__(f"jobctl._core.{name}")
IMPORTED = [name for name in ("httpx", "yaml") if name in sys.modules]


class Asked(Exception):
    """The last request of an operation, for which there is no answer here."""


class Transport:
    def __init__(self, *_):
        self.answers = []

    def run(self, operation):
        given = None
        try:
            while True:
                effect = operation.send(given)
                given = None
                if isinstance(effect, (effects.Send, effects.Open)):
                    if not self.answers:
                        raise Asked(effect.request)
                    given = effects.Answer(200, {}, json.dumps(self.answers.pop(0)).encode())
                elif isinstance(effect, effects.Do):
                    given = effect.work()
                elif isinstance(effect, effects.Now):
                    given = 0.0
        except StopIteration as end:
            return end.value

    iterate = run


sys.modules["httpx"] = types.ModuleType("httpx")
transport = types.ModuleType("jobctl._transport.blocking")
transport.BlockingTransport, transport.TokenSource = Transport, None
sys.modules["jobctl._transport.blocking"] = transport

from jobctl.client import Client  # noqa: E402

KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", datetime: "integer", bytes: "string"}


def kind_of(hint):
    if dataclasses.is_dataclass(hint):
        return "object"
    origin = typing.get_origin(hint)
    if origin is typing.Union:
        return kind_of(next(one for one in typing.get_args(hint) if one is not type(None)))
    if origin is typing.Literal:
        return kind_of(type(typing.get_args(hint)[0]))
    if origin is tuple:
        return "array"
    return "any" if hint is typing.Any else KINDS.get(hint, "object")


def keys_of(model):
    hints = typing.get_type_hints(model)
    return {
        key_of(one): {
            "isRequired": one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING,
            "kind": kind_of(hints[one.name]),
            **({"words": words} if (words := words_of(hints[one.name])) else {}),
        }
        for one in dataclasses.fields(model)
        if one.name != RAW
    }


def words_of(hint):
    if typing.get_origin(hint) is typing.Union:
        return words_of(typing.get_args(hint)[0])
    return list(typing.get_args(hint)) if typing.get_origin(hint) is typing.Literal else []


def encoded(value):
    """The reverse of `decode`, without `raw`."""
    if dataclasses.is_dataclass(value):
        fields = [(one, getattr(value, one.name)) for one in dataclasses.fields(value) if one.name != RAW]
        return {key_of(one): encoded(held) for one, held in fields if held is not None}
    if isinstance(value, datetime):
        return round((value - EPOCH).total_seconds() * 1000)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return [encoded(one) for one in value] if isinstance(value, tuple) else value


FILTER = {
    **{"project": "vision", "user": "alice", "pool": "default", "group": "exp", "phase": ["running", "queued"], "name": "lr-*"},
    **{"since": EPOCH, "ended_since": EPOCH, "state": "open", "ids": ["a", "b"]},
}
GROUPS = {key: FILTER[key] for key in ("project", "user", "pool", "group", "name", "since", "ended_since")}
FILES = {"requirements.txt": b"jax\n"}
PLAN = {"files": [{"path": "requirements.txt", "object": "files/x", "state": "exists"}]}
WANTED = {"files": [{**PLAN["files"][0], "state": "wanted"}]}
DIRECT = {"files": [{**WANTED["files"][0], "url": "https://storage.googleapis.com/up?id=1", "upload": "0" * 32}]}
KEYS = {"files": FILES, "identity_keys": {"k": "SHA256:" + "a" * 43}}
SUBMISSION = {**KEYS, "user": "alice", "ssh_key": "SHA256:" + "a" * 43}
# It names a variable, as this file does.
JOB = {"name": "${oc.env:PATH}"}
EDIT = {**KEYS, "edit": JOB, "set": {("a", 0): 1, "b.c": None}}
PAGE = {"rows": [], "total": 2, "open": 0, "nextPageToken": "t"}
MANIFEST = {"name": "jobs/a/outputs/manifests/a1/host-0.jsonl", "size": 1, "generation": "1", "updatedAt": 0}
ABOUT = {"verb": "logs", "user": "bob", "job": "a", "project": "vision", "pool": "default"}

# A call of each kind, with all that it can have, and the answers to the requests before the one that is looked at.
CALLS = (
    (lambda client: client.submit(JOB, **SUBMISSION), [PLAN]),
    (lambda client: client.submit(__file__, **SUBMISSION, name="a-1"), [PLAN]),
    (lambda client: client.submit({}, files=FILES), []),
    (lambda client: client.submit({}, files=FILES), [WANTED]),
    (lambda client: client.submit({}, files=FILES), [DIRECT, {}]),
    (lambda client: client.list(**FILTER, page_size=10), [PAGE]),
    (lambda client: client.count(**FILTER), []),
    (lambda client: client.status("a"), []),
    (lambda client: client.describe("a"), []),
    (lambda client: client.why("a"), []),
    (lambda client: client.open_slices("a"), []),
    (lambda client: client.delete("a"), []),
    (lambda client: client.host_access("a"), []),
    (lambda client: client.wait("a"), []),
    (lambda client: client.log_bytes("a", attempt=1, host=0), []),
    (lambda client: client.follow_logs("a", attempt=1, host=0), []),
    (lambda client: client.cancel("a"), []),
    (lambda client: client.list_groups(**GROUPS), []),
    (lambda client: client.group("a"), []),
    (lambda client: client.describe_group("a"), []),
    (lambda client: client.cancel_group("a"), []),
    (lambda client: client.retry_group("a"), []),
    (lambda client: client.begin_group("a"), []),
    (lambda client: client.stop_group("a", release=True), []),
    (lambda client: client.resume_group("a"), []),
    (lambda client: client.group_priority("a", 3), []),
    (lambda client: client.create_schedule("a", JOB, **SUBMISSION, cron="@daily"), [PLAN]),
    (lambda client: client.create_schedule("a", __file__, cron="@daily"), []),
    (lambda client: client.schedules(), []),
    (lambda client: client.schedule("a"), []),
    (lambda client: client.pause_schedule("a", reason="tonight"), []),
    (lambda client: client.resume_schedule("a"), []),
    (lambda client: client.trigger_schedule("a"), []),
    (lambda client: client.delete_schedule("a"), []),
    (lambda client: client.resume("a", **EDIT), [PLAN]),
    (lambda client: client.resume("a", edit=__file__), []),
    (lambda client: client.restart("a", **EDIT, replace=[0]), [PLAN]),
    (lambda client: client.restart("a", edit=__file__, replace="all"), []),
    (lambda client: client.priority("a", 1), []),
    (lambda client: client.metrics("a", names=["loss", "acc"], host=1, x="time", points=10), []),
    (lambda client: client.metrics("a"), []),
    (lambda client: client.outputs("a"), []),
    (lambda client: client.outputs("a"), [{"objects": [MANIFEST]}]),
    (lambda client: client.quota_show(), []),
    (lambda client: client.capacity(), []),
    (lambda client: client.report("day", since=EPOCH, project="p", user="bob", pool="default"), []),
    (lambda client: client.quota_apply(quota_file=__file__, pool_file=__file__), []),
    (lambda client: client.quota_plan(quota_file=__file__, pool_file=__file__), []),
    (lambda client: client.admission(state="frozen", reason="tonight"), []),
    (lambda client: client.quota_release("a", because="it is off"), []),
    (lambda client: client.secret_names("vision"), []),
    (lambda client: client.whoami(), []),
    (lambda client: client.access_explain(**ABOUT), []),
    (lambda client: client.audit(user="bob", job="a", since=EPOCH, limit=10), []),
)


def request_of(method, keys):
    return lambda client: getattr(client, method)("a", **keys), []


def last_request(call, answers):
    client = Client("http://127.0.0.1:1", host_name="wks")
    client._transport.answers = list(answers)
    try:
        call(client)
    except Asked as asked:
        return asked.args[0]
    raise AssertionError("a call without a request")


def shown(request):
    is_json = request.headers.get("content-type") == "application/json"
    return {
        "method": request.method,
        "path": request.path,
        "query": dict(request.query),
        "headers": dict(request.headers),
        "body": json.loads(request.body) if is_json else None,
        "isRepeatable": request.is_repeatable,
    }


def manifest_of(text):
    try:
        read = manifests.read_manifest(base64.b64decode(text), 1, 0)
    except errors.DownloadFailed as error:
        return {"refused": error.detail}
    entries = [
        {
            **({} if isinstance(one, outputs.OutputFile) else {"kind": type(one).__name__}),
            **{name: encoded(held) for name, held in vars(one).items()},
        }
        for one in read.entries
    ]
    return {"state": read.state, "entries": entries, "problems": list(read.problems)}


def main(asked):
    return {
        "models": {
            name: keys_of(model) for name, model in vars(models).items() if dataclasses.is_dataclass(model)
        },
        "codes": list(errors.BY_CODE),
        "decoded": {
            name: [encoded(decode(getattr(models, name), one, name)) for one in values]
            for name, values in asked.get("decode", {}).items()
        },
        "requests": [
            shown(last_request(*one)) for one in (*CALLS, *(request_of(*one) for one in asked.get("requests", {}).items()))
        ],
        "manifests": [manifest_of(one) for one in asked.get("manifests", [])],
        "pool": encoded(pool_state.read_pool_state(asked["pool"], "pool")) if "pool" in asked else None,
        "imported": IMPORTED,
    }


if __name__ == "__main__":
    json.dump(main(json.load(sys.stdin)), sys.stdout)

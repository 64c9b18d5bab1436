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
from jobctl._core import changes, effects, jobs, logs, manifests, outputs, pools, uploads  # noqa: E402
from jobctl._core.calls import Calls, Retry  # noqa: E402
from jobctl._core.decode import EPOCH, RAW, decode, key_of  # noqa: E402

CALLS = Calls(Retry())
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


def first_request(operation, answers=()):
    """The last request that an operation makes if these are the answers to those before it."""
    answers = list(answers)
    effect = next(operation)
    while True:
        if isinstance(effect, (effects.Send, effects.Open)):
            if not answers:
                return effect.request
            effect = operation.send(effects.Answer(200, {}, json.dumps(answers.pop(0)).encode()))
        elif isinstance(effect, effects.Do):
            effect = operation.send(effect.work())
        else:
            effect = operation.send(0.0 if isinstance(effect, effects.Now) else None)


FILTER = tuple(
    zip(
        ("project", "user", "pool", "phase", "name", "since", "endedSince", "state", "ids", "limit", "pageToken"),
        ("vision", "alice", "default", "running,queued", "lr-*", 1, 2, "open", "a,b", 10, "t"),
    )
)
FILES = {"requirements.txt": b"jax\n"}
PLAN = {"files": [{"path": "requirements.txt", "object": "files/x", "state": "exists"}]}
WANTED = {"files": [{**PLAN["files"][0], "state": "wanted"}]}
DIRECT = {"files": [{**WANTED["files"][0], "url": "https://storage.googleapis.com/up?id=1", "upload": "0" * 32}]}
EDIT = changes.Edit({"name": "a"}, "name: a", {("a", 0): 1, "b.c": None}, FILES, {"k": "SHA256:" + "a" * 43})
SUBMISSION = jobs.Submission(
    job={"name": "a"},
    source="name: a",
    user="alice",
    files=FILES,
    ssh_key="SHA256:" + "a" * 43,
    identity_keys={"k": "SHA256:" + "a" * 43},
)


def requests():
    """A request of each kind, with all that it can have."""
    named = dataclasses.replace(SUBMISSION, name="a-1")
    followed = logs.log_request("a", 1, "command", 0, follow=True)
    yield jobs.submit(CALLS, SUBMISSION), [PLAN]
    yield jobs.submit(CALLS, named), [PLAN]
    yield uploads.upload(CALLS, FILES), []
    yield uploads.upload(CALLS, FILES), [WANTED]
    yield uploads.upload(CALLS, FILES), [DIRECT, {}]
    yield jobs.page(CALLS, FILTER), []
    yield jobs.count(CALLS, FILTER[:9]), []
    for operation in (jobs.status, jobs.describe, jobs.why, jobs.open_slices, changes.delete):
        yield operation(CALLS, "a"), []
    yield jobs.host_access(CALLS, "a"), []
    yield jobs.wait(CALLS, "a", None), []
    yield logs.log_bytes(CALLS, logs.log_request("a", 1, "command", 0, follow=False)), []
    yield logs.follow(CALLS, followed), []
    yield changes.cancel(CALLS, "a", "wks"), []
    yield changes.stop(CALLS, "a", True, "wks"), []
    yield changes.go_on(CALLS, "a", "resume", EDIT, "wks"), [PLAN]
    yield changes.go_on(CALLS, "a", "restart", changes.Edit(), None), []
    yield changes.requeue(CALLS, "a", "us-east5-a", "wks"), []
    yield changes.set_up(CALLS, "a", ["venv"], True, "wks"), []
    yield changes.priority(CALLS, "a", 1), []
    yield outputs.outputs(CALLS, "a", (None, None)), []
    manifest = {"name": "jobs/a/outputs/manifests/a1/host-0.jsonl", "size": 1, "generation": "1", "updatedAt": 0}
    yield outputs.outputs(CALLS, "a", (None, None)), [{"objects": [manifest]}]
    yield pools.show(CALLS, "default"), []
    yield pools.capacity(CALLS, "default"), []
    yield pools.apply(CALLS, "default", __file__, __file__), []
    yield pools.plan(CALLS, "default", __file__, __file__), []
    yield pools.admission(CALLS, "default", "frozen", "tonight"), []
    yield pools.secret_names(CALLS, (("project", "vision"), ("pool", "default"))), []
    yield pools.whoami(CALLS), []
    about = (("verb", "logs"), ("user", "bob"), ("job", "a"), ("project", "vision"), ("pool", "default"))
    yield pools.explain(CALLS, about), []
    audit = (("user", "bob"), ("job", "a"), ("since", 1), ("limit", 10), ("pool", "default"))
    yield pools.audit(CALLS, audit), []


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
        "requests": [shown(first_request(*one)) for one in requests()],
        "manifests": [manifest_of(one) for one in asked.get("manifests", [])],
        "pool": encoded(pool_state.read_pool_state(asked["pool"], "pool")) if "pool" in asked else None,
        "imported": [name for name in ("httpx", "yaml") if name in sys.modules],
    }


if __name__ == "__main__":
    json.dump(main(json.load(sys.stdin)), sys.stdout)

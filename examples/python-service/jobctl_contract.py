"""jobctl's contract as Python types: what a service sends and what it gets. Plain JSON; docs/contract.md is the text of it."""

from typing import Any, Literal, NotRequired, TypedDict

# jobctl's workflow type and the queue that its workers poll: with an input, all that is needed to start a job.
JOB_WORKFLOW = "job"
JOB_TASK_QUEUE = "jobctl"


class JobInput(TypedDict):
    """The one argument of the workflow. Integers must be integers: "1" or 1.5 for `v` is refused."""

    v: Literal[1]
    # The job file as JSON.
    job: dict[str, Any]
    # For whom; the quota of the user's project is asked for.
    user: NotRequired[str]


class OutcomeCause(TypedDict):
    by: Literal["task", "infrastructure", "preemption", "user"]
    message: str
    slice: NotRequired[int]
    host: NotRequired[int]


class Outcome(TypedDict):
    """How a job ended. Times are milliseconds since 1970, UTC."""

    result: Literal["succeeded", "failed", "cancelled"]
    exitCode: NotRequired[int]
    cause: NotRequired[OutcomeCause]
    attempts: int
    preemptions: int
    submittedAt: int
    startedAt: NotRequired[int]
    endedAt: int


class JobNotice(TypedDict):
    """The argument of the signal that `notify` asks for. A refused job has a message, any other an outcome."""

    v: Literal[1]
    job: str
    run: str
    result: Literal["succeeded", "failed", "cancelled", "refused"]
    outcome: NotRequired[Outcome]
    message: NotRequired[str]


def training_job(learning_rate: float) -> JobInput:
    """One training run of this service."""
    return {
        "v": 1,
        "user": "python-service",
        "job": {
            "name": "train",
            "tpu": {"accelerator": "v5litepod-8", "zone": "us-central1-a", "allocation_mode": "queued-resources"},
            "env": {"LEARNING_RATE": learning_rate},
            "command": {"run": 'echo "training with learning rate $LEARNING_RATE on $(hostname)"'},
        },
    }

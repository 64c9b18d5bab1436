"""A workflow of this service that runs jobs as children and is told when each has ended."""

import asyncio
from dataclasses import dataclass

from temporalio import workflow
from temporalio.workflow import ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    from jobctl_contract import JOB_WORKFLOW, JobInput, JobNotice


@dataclass
class SweepInput:
    """The jobs of a sweep by the id that each is to have, and the queue of jobctl's workers."""

    jobs: dict[str, JobInput]
    job_task_queue: str


@dataclass
class JobEnd:
    job: str
    # As in JobNotice, or "terminated": an operator ended the job over its head, and it could tell nobody.
    result: str


@workflow.defn
class Sweep:
    """
    Runs jobs as children at the same time, and knows of each end when it comes.

    Whatever ends this workflow, terminate included, ends its jobs too, and jobctl gives their slices back.
    """

    def __init__(self) -> None:
        self._notices: dict[str, JobNotice] = {}

    @workflow.signal
    def job_ended(self, notice: JobNotice) -> None:
        """jobctl's signal, once for each job. Its name is ours to choose, its argument is the contract's."""
        self._notices.setdefault(notice["job"], notice)

    @workflow.query
    def ended(self) -> list[JobNotice]:
        """The jobs that have ended so far, in the order in which they did."""
        return list(self._notices.values())

    @workflow.run
    async def run(self, sweep: SweepInput) -> list[JobEnd]:
        notify = {"to": {"workflow": {"id": workflow.info().workflow_id, "signal": "job_ended"}}}
        children = [
            await workflow.start_child_workflow(
                JOB_WORKFLOW,
                {**job, "job": {**job["job"], "notify": notify}},
                id=job_id,
                # A child that names no queue would wait on the queue of its parent for ever.
                task_queue=sweep.job_task_queue,
                parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
            )
            for job_id, job in sweep.jobs.items()
        ]
        # The notice comes first and the result a moment later. A parent that closed in between would cancel its child.
        await asyncio.gather(*children, return_exceptions=True)
        return [JobEnd(job_id, self._result_of(job_id)) for job_id in sweep.jobs]

    def _result_of(self, job_id: str) -> str:
        notice = self._notices.get(job_id)
        return notice["result"] if notice else "terminated"

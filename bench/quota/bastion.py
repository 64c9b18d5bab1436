"""One pass of AXLearn's Bastion over each pool of a file, timed here: what jobctl's own pass is measured beside.

Written anew from its published behaviour (docs/facts.md, "Predecessors"; apple/axlearn, axlearn/cloud/common/scheduler.py, 0330145),
with its data structures: a queue.PriorityQueue of users per project, one of projects, and a pool that is empty at the
start of each pass. Nothing of its configuration or logging is here, so its own pass cannot be quicker than this one.

    python3 bastion.py INPUT.jsonl [--rounds N] [--queue heapq]

A line of INPUT is what bastion.ts calls BastionInput. For each it prints a line {"ms": [CPU time of each round],
"verdicts": [{"id", "tier"}]}, with the jobs in the order in which they were visited; a tier of null: not admitted.
"""

import argparse
import collections
import heapq
import json
import queue
import time
from typing import NamedTuple


class UserTurn(NamedTuple):
    """A user's head job, in the order of a project's turns."""

    priority: int
    used: int
    submitted_at: int
    id: str
    user: str


class HeapQueue:
    """The same order without locks: for whoever asks what the locks of queue.PriorityQueue cost."""

    def __init__(self):
        self.heap = []

    def put(self, item):
        heapq.heappush(self.heap, item)

    def get(self):
        return heapq.heappop(self.heap)

    def empty(self):
        return not self.heap


def in_turns(jobs, new_queue):
    """Jobs of one project: users take turns, by (priority, what the user has in this pass, submit time, id)."""
    by_user = collections.defaultdict(list)
    for job in jobs:
        by_user[job["user"]].append((job["priority"], job["submittedAt"], job["id"], job))
    turns = new_queue()
    for user, heads in by_user.items():
        heads.sort(key=lambda head: head[:3])
        priority, submitted_at, job_id, _ = heads[0]
        turns.put(UserTurn(priority, 0, submitted_at, job_id, user))
    line = []
    while not turns.empty():
        turn = turns.get()
        heads = by_user[turn.user]
        *_, job = heads.pop(0)
        line.append(job)
        if heads:
            priority, submitted_at, job_id, _ = heads[0]
            used = turn.used + sum(job["units"].values())
            turns.put(UserTurn(priority, used, submitted_at, job_id, turn.user))
    return line


def nominal_of(shares, total):
    """Shares are weights: scaled to 1, up or down."""
    sums = collections.defaultdict(float)
    for of_project in shares.values():
        for kind, share in of_project.items():
            sums[kind] += share
    nominal = collections.defaultdict(lambda: collections.defaultdict(float))
    for project, of_project in shares.items():
        for kind, share in of_project.items():
            nominal[project][kind] = (share / max(sums[kind], 1e-8)) * total.get(kind, 0)
    return nominal


def fits(units, available):
    return all(asked <= available.get(kind, 0) for kind, asked in units.items())


def take_from(tiers, units):
    """What each of these (index, limits) gives, in their order, until all is there."""
    taken = collections.defaultdict(dict)
    rest = dict(units)
    for tier, limits in tiers:
        for kind in list(rest):
            share = min(rest[kind], limits.get(kind, 0))
            if share:
                taken[tier][kind] = share
                rest[kind] -= share
                if rest[kind] <= 0:
                    del rest[kind]
        if not rest:
            break
    return taken


def one_pass(pool, new_queue):
    by_project = collections.defaultdict(list)
    for job in pool["jobs"]:
        by_project[job["project"]].append(job)
    tiers = [dict(tier) for tier in pool["tiers"]]
    left = collections.defaultdict(int)
    for tier in tiers:
        for kind, units in tier.items():
            left[kind] += units
    nominal = nominal_of(pool["shares"], left)
    used = collections.defaultdict(lambda: collections.defaultdict(int))
    lines = {}
    for project, jobs in by_project.items():
        line = in_turns(jobs, new_queue)
        # Larger than the pool: after all others.
        can = [job for job in line if fits(job["units"], left)]
        cannot = [job for job in line if not fits(job["units"], left)]
        lines[project] = collections.deque(can + cannot)

    def turn_of(project):
        job = lines[project][0]
        ratios = [
            (used[project][kind] + asked) / max(nominal[project][kind], 1e-8)
            for kind, asked in job["units"].items()
        ]
        return max((0, *ratios)), job["submittedAt"], project

    projects = new_queue()
    for project in lines:
        projects.put(turn_of(project))
    verdicts = []
    while not projects.empty():
        *_, project = projects.get()
        job = lines[project].popleft()
        final = None
        if fits(job["units"], left):
            # The best tiers that suffice say which is the last; chips are taken from the last one first.
            final = max((0, *take_from(enumerate(tiers), job["units"])))
            from_last = reversed(list(enumerate(tiers[: final + 1])))
            for tier, kinds in take_from(from_last, job["units"]).items():
                for kind, units in kinds.items():
                    tiers[tier][kind] -= units
                    left[kind] -= units
                    used[project][kind] += units
        verdicts.append({"id": job["id"], "tier": final})
        if lines[project]:
            projects.put(turn_of(project))
    return verdicts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("input")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--queue", choices=["PriorityQueue", "heapq"], default="PriorityQueue")
    arguments = parser.parse_args()
    new_queue = HeapQueue if arguments.queue == "heapq" else queue.PriorityQueue
    with open(arguments.input, encoding="utf-8") as file:
        for line in file:
            pool = json.loads(line)
            times = []
            for _ in range(arguments.rounds):
                start = time.process_time()
                verdicts = one_pass(pool, new_queue)
                times.append((time.process_time() - start) * 1000)
            print(json.dumps({"ms": times, "verdicts": verdicts}))


main()

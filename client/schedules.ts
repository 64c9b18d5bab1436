import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ScheduleDescription, ScheduleHandle, ScheduleSummary, WorkflowExecutionInfo } from '@temporalio/client';
import { keywords, ownerColumns } from '../contract/job-start.js';
import type { JobInput } from '../contract/job.js';
import type { FiringInput, FiringMemo, ScheduleMemo } from '../contract/schedule.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import { contentHash } from '../domain/content-hash.js';
import type { JobSpec } from '../domain/job-spec.js';
import { formatSlices } from '../domain/machines.js';
import { firingWorkflowId, isScheduleName, type Overlap, OVERLAPS, scheduleId } from '../domain/schedule/schedule.js';
import { OWN_ID_PREFIXES, queryText } from '../domain/temporal-server.js';
import type { EpochMs } from '../domain/units.js';
import { JobInvalid, JobNameTaken, JobRefused, ScheduleNotFound, TemporalRefused } from './errors.js';
import type { TemporalAccess } from './job-executions.js';
import { findJobs } from './job-query.js';
import {
  type FiringRow,
  firingRow,
  idsIn,
  nextOf,
  rowOf,
  type ScheduleRow,
  type ScheduleView,
} from './schedule-rows.js';
import { checkedTimes, repeatable, type ScheduleWish, type Times } from './schedule-wish.js';
import { mustBeUser, uploadedInput } from './submissions.js';
import type { UploadFiles } from './uploads.js';

export interface CreatedSchedule {
  readonly name: string;
  /** False: the very same schedule is there already. */
  readonly isNew: boolean;
  readonly spec: JobSpec;
  readonly next: readonly EpochMs[];
  /** Warnings of a `jobctl serve`, for people. */
  readonly warnings?: readonly string[];
}

/** Answer to a trigger. */
export interface Triggered {
  readonly message: string;
  /** Id of the job that it has started. Absent: none yet. */
  readonly job?: string;
}

export interface SchedulesClient {
  /** Has Temporal start a job at the times of a cron. @throws JobInvalid, JobNameTaken, TemporalRefused; nothing was created then */
  create(wish: ScheduleWish): Promise<CreatedSchedule>;
  /** All schedules, by name. A new one is listed after a second or so. */
  list(): Promise<readonly ScheduleRow[]>;
  /** @throws ScheduleNotFound, as all below */
  view(name: string): Promise<ScheduleView>;
  /** Stops firing until `resume`. Jobs that run go on. Returns a sentence, as all below. */
  pause(name: string, by: string, reason?: string): Promise<string>;
  resume(name: string, by: string): Promise<string>;
  /** Fires now, under its overlap policy, also if it is paused. @throws JobRefused if the policy does not let it start */
  trigger(name: string): Promise<Triggered>;
  /** Ends the schedule. Jobs that it has started go on. */
  delete(name: string): Promise<string>;
}

interface SchedulesParts extends TemporalAccess {
  readonly taskQueue: string;
  readonly upload: UploadFiles;
}

/** Most schedules that are listed. */
const MOST_LISTED = 1_000;

/** Schedules over Temporal itself: each is a Temporal Schedule that starts the workflow `firing` (docs/adr/0159). */
export class TemporalSchedules implements SchedulesClient {
  readonly #parts: SchedulesParts;

  constructor(parts: SchedulesParts) {
    this.#parts = parts;
  }

  async create(wish: ScheduleWish): Promise<CreatedSchedule> {
    const { name } = wish;
    const times = checkedTimes(wish);
    const { spec, array } = await repeatable(wish);
    mustBeUser(wish.user);
    await this.#parts.calls.refuseOldServer();
    const input = await uploadedInput(wish, this.#parts.upload);
    const { cron, zone, overlap } = times;
    const hash = contentHash({ job: input.job, files: input.files ?? {}, cron, zone, overlap });
    const authorization = wish.authorize?.(scheduleId(name), input);
    const submission = authorization === undefined ? input : { ...input, authorization };
    const memo: ScheduleMemo = {
      ...{ cron, timeZone: zone, overlap, slice: formatSlices(spec), createdAt: Date.now(), contentHash: hash },
      ...(array !== undefined && { members: await membersOf(array) }),
    };
    const isNew = await this.#start({ name, spec, submission, memo, times });
    const { memo: known, info } = await this.#describe(name);
    if (!isNew && (known as Partial<ScheduleMemo> | undefined)?.contentHash !== hash)
      throw new JobNameTaken(name, 'schedule');
    return { name, isNew, spec, next: nextOf(info) };
  }

  /** @returns false if there is one of this name */
  async #start({ name, spec, submission, memo, times }: ScheduleStart): Promise<boolean> {
    const { ScheduleAlreadyRunning } = await import('@temporalio/client');
    const { temporal, taskQueue } = this.#parts;
    const { crons, zone, overlap, catchUpMs, isOfWallClock } = times;
    const input: FiringInput = { v: 1, submission, ...(isOfWallClock && zone !== 'UTC' && { wallClock: zone }) };
    const first: FiringMemo = { state: 'starting' };
    const { user, attributes } = ownerColumns(spec, submission);
    try {
      await this.#call(() =>
        temporal.schedule.create({
          scheduleId: scheduleId(name),
          spec: { cronExpressions: [...crons], timezone: zone },
          action: {
            type: 'startWorkflow',
            workflowType: WorkflowType.Firing,
            workflowId: scheduleId(name),
            taskQueue,
            args: [input],
            memo: { ...first },
            staticSummary: `${spec.name}: ${memo.slice} for ${user}`,
          },
          policies: { overlap: OVERLAPS[overlap], catchupWindow: catchUpMs },
          memo: { ...memo },
          typedSearchAttributes: keywords(attributes),
        }),
      );
      return true;
    } catch (error) {
      if (error instanceof ScheduleAlreadyRunning) return false;
      // Temporal knows its own time zones.
      if (error instanceof TypeError) throw new JobInvalid(`schedule: Temporal refuses it: ${error.message}`);
      throw error;
    }
  }

  async list(): Promise<readonly ScheduleRow[]> {
    const { temporal } = this.#parts;
    const found = await this.#call(async () => {
      const all: ScheduleSummary[] = [];
      for await (const each of temporal.schedule.list({ pageSize: MOST_LISTED })) {
        // A namespace has other schedules too, that of the janitor among them.
        if (each.scheduleId.startsWith(OWN_ID_PREFIXES.schedule)) all.push(each);
        if (all.length === MOST_LISTED) break;
      }
      return all;
    });
    const lastIds = found.flatMap(({ info }) => idsIn(info.recentActions).at(-1) ?? []);
    const firings = await this.#firings(lastIds);
    const rows = found.map((each) => rowOf(each, firings.get(idsIn(each.info.recentActions).at(-1) ?? '')));
    return rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  async view(name: string): Promise<ScheduleView> {
    const schedule = await this.#describe(name);
    const { recentActions, numActionsTaken, numActionsSkippedOverlap, numActionsMissedCatchupWindow } = schedule.info;
    const ids = idsIn(recentActions).toReversed();
    const found = await this.#firings(ids);
    const firings = ids.flatMap((id) => found.get(id) ?? []);
    return {
      ...rowOf(schedule, firings[0]),
      firings,
      ...{ fired: numActionsTaken, overlapped: numActionsSkippedOverlap, missed: numActionsMissedCatchupWindow },
      // Temporal tells their number alone.
      waiting: Number(schedule.raw.info?.bufferSize ?? 0),
    };
  }

  async pause(name: string, by: string, reason?: string): Promise<string> {
    const why = reason === undefined ? '' : `: ${reason}`;
    await this.#of(name, (schedule) => schedule.pause(`paused by ${by}${why}`));
    return `schedule ${name} is paused: it starts no job until it is resumed; a job that runs goes on`;
  }

  async resume(name: string, by: string): Promise<string> {
    await this.#of(name, (schedule) => schedule.unpause(`resumed by ${by}`));
    const [next] = nextOf((await this.#describe(name)).info);
    return `schedule ${name} goes on${next === undefined ? '' : `: next at ${new Date(next).toISOString()}`}; what it has passed over is not made up for`;
  }

  async trigger(name: string): Promise<Triggered> {
    const before = await this.#describe(name);
    const at = await this.#freeSecond(name);
    await this.#of(name, () => this.#triggerAt(name, at, before));
    const known = new Set(idsIn(before.info.recentActions));
    const wanted = firingWorkflowId({ schedule: name, at });
    let job: string | undefined;
    for (let look = 0; look < TRIGGER_LOOKS; look++) {
      const { info } = await this.#describe(name);
      const fresh = idsIn(info.recentActions).filter((each) => !known.has(each));
      // A server that does not know `scheduledTime` takes its own time.
      const id = fresh.find((each) => each === wanted) ?? fresh.at(-1);
      const firing = id === undefined ? undefined : await this.#firingNow(id);
      job = firing?.job;
      if (firing?.state === 'not-started')
        throw new JobRefused(name, firing.why ?? `job ${firing.job} was not started`);
      if (firing !== undefined && firing.state !== 'starting')
        return { message: `schedule ${name} fires: its job is ${firing.job}`, job: firing.job };
      if (info.numActionsSkippedOverlap > before.info.numActionsSkippedOverlap)
        throw new JobRefused(
          name,
          `schedule ${name} did not fire: ${LEFT_OUT[rowOf(before, undefined).overlap]}`,
          `cancel that job first (\`jobctl schedule status ${name}\`), or submit the file by itself`,
        );
      await sleep(TRIGGER_LOOK_MS);
    }
    if (job === undefined)
      return { message: `schedule ${name} fires as soon as its overlap policy lets it: the job before has not ended` };
    return { message: `schedule ${name} fires: job ${job} starts as soon as a worker takes it`, job };
  }

  /**
   * The time of a firing by hand: this second, or the next one that has no firing yet. Temporal makes ids of whole seconds,
   * and would start nothing for a second firing of one (docs/adr/0181).
   */
  async #freeSecond(name: string): Promise<EpochMs> {
    const { WorkflowNotFoundError } = await import('@temporalio/common');
    const { temporal } = this.#parts;
    const second = Math.floor(Date.now() / 1_000) * 1_000;
    for (let at = second; at < second + MOST_SECONDS_AHEAD * 1_000; at += 1_000) {
      const handle = temporal.workflow.getHandle(firingWorkflowId({ schedule: name, at }));
      try {
        await this.#call(() => handle.describe());
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return at;
        throw error;
      }
    }
    throw new JobRefused(
      name,
      `schedule ${name} was triggered ${MOST_SECONDS_AHEAD} times within a moment`,
      'trigger it again in a minute',
    );
  }

  /** Triggers the schedule, with the time that is in the id of the firing. */
  async #triggerAt(name: string, at: EpochMs, { raw }: ScheduleDescription): Promise<void> {
    const { temporal } = this.#parts;
    await temporal.workflowService.patchSchedule({
      ...{ namespace: temporal.options.namespace, scheduleId: scheduleId(name), requestId: randomUUID() },
      ...{ identity: temporal.options.identity },
      patch: {
        triggerImmediately: {
          overlapPolicy: raw.schedule?.policies?.overlapPolicy ?? null,
          scheduledTime: { seconds: at / 1_000, nanos: 0 } as object,
        },
      },
    });
  }

  /** A firing by the id of its workflow, strongly consistent. */
  async #firingNow(id: string): Promise<FiringRow | undefined> {
    const { temporal } = this.#parts;
    return firingRow(id, await this.#call(() => temporal.workflow.getHandle(id).describe()));
  }

  async delete(name: string): Promise<string> {
    await this.#of(name, (schedule) => schedule.delete());
    return `schedule ${name} is deleted; jobs that it has started go on`;
  }

  // ------------------------------------------------------------------------------------------------------------------

  #describe(name: string): Promise<ScheduleDescription> {
    return this.#of(
      name,
      (schedule) => schedule.describe(),
      (call) => this.#parts.calls.askedAgain(call),
    );
  }

  /** @throws ScheduleNotFound */
  async #of<T>(name: string, call: (schedule: ScheduleHandle) => Promise<T>, made?: MakeCall): Promise<T> {
    const { ScheduleNotFoundError } = await import('@temporalio/client');
    const { temporal, where } = this.#parts;
    // A name that no schedule can have might name another object of Temporal's.
    if (!isScheduleName(name)) throw new ScheduleNotFound(name, where);
    try {
      return await this.#call(() => call(temporal.schedule.getHandle(scheduleId(name))), made);
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) throw new ScheduleNotFound(name, where);
      throw error;
    }
  }

  /** @throws TemporalRefused if the server has no schedules */
  async #call<T>(call: () => Promise<T>, made: MakeCall = (each) => this.#parts.calls.bounded(each)): Promise<T> {
    try {
      return await made(call);
    } catch (error) {
      const { code } = ((error as Partial<Error>).cause ?? {}) as { readonly code?: unknown };
      if (code !== UNIMPLEMENTED) throw error;
      throw new TemporalRefused(
        `the Temporal server ${this.#parts.where} has no schedules`,
        'upgrade it, or let its operator switch them on (dynamic configuration frontend.enableSchedules)',
      );
    }
  }

  /** Firings by the ids of their workflows. Those that Temporal does not show are `unknown`. */
  async #firings(ids: readonly string[]): Promise<ReadonlyMap<string, FiringRow>> {
    const { temporal } = this.#parts;
    const found = new Map<string, FiringRow>();
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      const some = ids.slice(from, from + AT_ONCE);
      const query =
        `WorkflowType = '${WorkflowType.Firing}' AND WorkflowId IN (${some.map(queryText).join(', ')})` +
        " AND ExecutionStatus != 'ContinuedAsNew'";
      const listed = await this.#call(async () => {
        const all: WorkflowExecutionInfo[] = [];
        for await (const each of temporal.workflow.list({ query, pageSize: AT_ONCE })) all.push(each);
        return all;
      });
      const byId = new Map(listed.toReversed().map((each) => [each.workflowId, each]));
      for (const id of some) {
        const row = firingRow(id, byId.get(id));
        if (row !== undefined) found.set(id, row);
      }
    }
    const open = [...found].filter(([, { state }]) => state === 'open').map(([, { job }]) => job);
    const jobs = new Map((await findJobs(this.#parts, { ids: open })).map((row) => [row.id, row]));
    for (const [id, row] of found) {
      const phase = row.state === 'open' ? jobs.get(row.job)?.phase : undefined;
      if (phase !== undefined) found.set(id, { ...row, phase });
    }
    return found;
  }
}

/** Loaded here, because other calls need no schema. */
async function membersOf(array: NonNullable<ScheduleWish['array']>): Promise<number> {
  const { memberIndexes } = await import('../domain/array/array.js');
  return memberIndexes(array).length;
}
type MakeCall = <T>(call: () => Promise<T>) => Promise<T>;

const UNIMPLEMENTED = 12;
/** Reasons why Temporal leaves a firing out, by the policy. */
const LEFT_OUT: Readonly<Record<Overlap, string>> = {
  skip: 'the job before has not ended, and its overlap is skip',
  queue: 'the job before has not ended, another firing waits for that, and its overlap is queue',
  cancel: 'the job before has not ended, another firing waits for that, and its overlap is cancel',
  allow: 'too many of its firings have not ended',
};
const AT_ONCE = 100;
/** Triggers that may follow one another within a second. */
const MOST_SECONDS_AHEAD = 10;
const TRIGGER_LOOKS = 20;
const TRIGGER_LOOK_MS = 250;

interface ScheduleStart {
  readonly name: string;
  readonly spec: JobSpec;
  readonly submission: JobInput;
  readonly memo: ScheduleMemo;
  readonly times: Times;
}

import { setTimeout as sleep } from 'node:timers/promises';

/** Errors that a caller can act on. Messages name the problem, the object and the remedy; the command line prints them as is. */

/** The remedy for a call that no worker answers. */
export const IS_A_WORKER_UP = 'is a worker up? (`jobctl dev status`, or start one with `jobctl worker`)';

/** The job, or the change to its file, is invalid: nothing was submitted or changed. `message` lists every problem, formatted. */
export class JobInvalid extends Error {
  override readonly name = 'JobInvalid';
}

/** A job, group or schedule with this name exists, with other content. */
export class JobNameTaken extends Error {
  override readonly name = 'JobNameTaken';
  readonly id: string;
  readonly what: 'job' | 'group' | 'schedule';

  constructor(id: string, what: 'job' | 'group' | 'schedule' = 'job') {
    super(`a ${what} named '${id}' is there already, with other content`);
    this.id = id;
    this.what = what;
  }
}

export class JobNotFound extends Error {
  override readonly name = 'JobNotFound';
  readonly id: string;
  /** True: a group has this id. */
  readonly isGroup: boolean;
  /** The remedy, if one is known. */
  readonly remedy: string | undefined;

  constructor(id: string, where: string, isGroup = false) {
    super(isGroup ? `'${id}' is a group of jobs, and one job is wanted` : `no job '${id}' ${where}`);
    this.id = id;
    this.isGroup = isGroup;
    this.remedy = isGroup ? `name a member, such as ${id}-0; \`jobctl status ${id}\` lists them` : undefined;
  }
}

/** No array was submitted under this id. */
export class GroupNotFound extends Error {
  override readonly name = 'GroupNotFound';
  readonly id: string;

  constructor(id: string, where: string) {
    super(`no group '${id}' ${where}`);
    this.id = id;
  }
}

/** There is no schedule of this name. */
export class ScheduleNotFound extends Error {
  override readonly name = 'ScheduleNotFound';
  readonly id: string;

  constructor(name: string, where: string) {
    super(`no schedule '${name}' ${where}`);
    this.id = name;
  }
}

/** The job's state does not allow the call, or its slices are those of another file. Nothing was changed; `message` says why. */
export class JobRefused extends Error {
  override readonly name = 'JobRefused';
  readonly id: string;
  /** The remedy, if one is known. */
  readonly remedy: string | undefined;

  constructor(id: string, why: string, remedy?: string) {
    super(why);
    this.id = id;
    this.remedy = remedy;
  }
}

/** The job's workflow was ended from outside jobctl, so the job has no outcome. */
export class JobTerminated extends Error {
  override readonly name = 'JobTerminated';
  readonly id: string;

  constructor(id: string, why: string) {
    super(`job '${id}' was ${why} in Temporal: it has no outcome; its slices are being deleted`);
    this.id = id;
  }
}

/** The pool's quota workflow has never run here. */
export class PoolNotFound extends Error {
  override readonly name = 'PoolNotFound';
  readonly pool: string;

  constructor(pool: string, where: string) {
    super(`no pool '${pool}' has run ${where}`);
    this.pool = pool;
  }
}

/** The named pool or machine does not exist. `message` lists those that do. */
export class MachineNotFound extends Error {
  override readonly name = 'MachineNotFound';
}

/** The pool refused a call, and nothing was changed. `message` says why; for files, it lists every problem with its place. */
export class PoolRefused extends Error {
  override readonly name = 'PoolRefused';
  readonly pool: string;

  constructor(pool: string, why: string) {
    super(why);
    this.pool = pool;
  }
}

/** A part of the job is encrypted with a key that this client does not have. */
export class JobEncrypted extends Error {
  override readonly name = 'JobEncrypted';
  readonly id: string;
  readonly keyId: string;
  readonly remedy = REMEDY_OF_MISSING_KEY;

  constructor(id: string, keyId: string) {
    super(`job '${id}' is encrypted with key '${keyId}', and this client does not have it`);
    this.id = id;
    this.keyId = keyId;
  }
}

export const REMEDY_OF_MISSING_KEY = 'name where the key is: --codec-key, JOBCTL_CODEC_KEY or TemporalOptions.codec';

abstract class WithRemedy extends Error {
  /** The remedy; absent if the message says it, or if no remedy but a retry is known. */
  readonly remedy: string | undefined;

  constructor(message: string, remedy?: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** Temporal cannot be reached, or did not answer in time. */
export class TemporalUnreachable extends WithRemedy {
  override readonly name = 'TemporalUnreachable';
}

/** Temporal answers, but no worker does. */
export class NoWorkerAnswers extends TemporalUnreachable {
  readonly isTemporalThere = true;
}

/** The person gave the wait up before there was an answer. The message says whether the call may still be carried out. */
export class WaitInterrupted extends WithRemedy {
  override readonly name = 'WaitInterrupted';
}

/** Temporal answers, but jobctl cannot work with it: no rights, no such namespace, too old, or a missing search attribute. */
export class TemporalRefused extends WithRemedy {
  override readonly name = 'TemporalRefused';
}

/** `jobctl serve` cannot be reached, or a service that it depends on does not answer. */
export class ServerUnreachable extends WithRemedy {
  override readonly name = 'ServerUnreachable';
}

/** `jobctl serve` gives an unexpected answer, or no token may be sent to its address. */
export class ServerRefused extends WithRemedy {
  override readonly name = 'ServerRefused';
}

/** There is no token, or the server does not accept it. The message names the wrong issuer, audience or time, never the token. */
export class NotLoggedIn extends WithRemedy {
  override readonly name = 'NotLoggedIn';
}

/** The server knows the caller, but does not allow the call. */
export class Forbidden extends WithRemedy {
  override readonly name = 'Forbidden';
}

/** The caller sent too many requests; nothing was done. */
export class TooManyRequests extends WithRemedy {
  override readonly name = 'TooManyRequests';
  /** The time to wait before the next request; undefined if the server does not say. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs: number | undefined, remedy?: string) {
    super(
      message,
      remedy ?? (retryAfterMs === undefined ? undefined : `try again in ${Math.ceil(retryAfterMs / 1000)} s`),
    );
    this.retryAfterMs = retryAfterMs;
  }
}

/** Errors that an outage of Temporal, `jobctl serve` or the store causes. The job survives an outage, so a watcher waits too. */
const OUTAGES = new Set([
  'ServerUnreachable',
  'ServiceError',
  'StoreUnavailable',
  'TemporalUnreachable',
  'TooManyRequests',
]);

export function isOutage(error: unknown): boolean {
  return error instanceof Error && OUTAGES.has(error.name);
}

/** Resolves after `ms`, or as soon as `signal` aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

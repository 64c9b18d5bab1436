/** What a caller of the library can act on. Messages say what, which, and what to do; the command line prints them as they are. */

/** The job, or the change of its file, is wrong: nothing was submitted or changed. `message` holds every problem, formatted. */
export class JobInvalid extends Error {
  override readonly name = 'JobInvalid';
}

/** A job of this name is there with other content. */
export class JobNameTaken extends Error {
  override readonly name = 'JobNameTaken';
  readonly id: string;

  constructor(id: string) {
    super(`a job named '${id}' is there already, with other content`);
    this.id = id;
  }
}

export class JobNotFound extends Error {
  override readonly name = 'JobNotFound';
  readonly id: string;

  constructor(id: string, where: string) {
    super(`no job '${id}' ${where}`);
    this.id = id;
  }
}

/** The job is in no state for that, or the slices that it has are of another file. Nothing was changed; `message` says why. */
export class JobRefused extends Error {
  override readonly name = 'JobRefused';
  readonly id: string;
  /** What to do, if that is known. */
  readonly remedy: string | undefined;

  constructor(id: string, why: string, remedy?: string) {
    super(why);
    this.id = id;
    this.remedy = remedy;
  }
}

/** The job's workflow was ended from outside, so it has no outcome. */
export class JobTerminated extends Error {
  override readonly name = 'JobTerminated';
  readonly id: string;

  constructor(id: string, why: string) {
    super(`job '${id}' was ${why} in Temporal: it has no outcome; its slices are being deleted`);
    this.id = id;
  }
}

/** No quota workflow of this pool has ever run here. */
export class PoolNotFound extends Error {
  override readonly name = 'PoolNotFound';
  readonly pool: string;

  constructor(pool: string, where: string) {
    super(`no pool '${pool}' has run ${where}`);
    this.pool = pool;
  }
}

/** A pool, or a machine of one, that is named is not there. `message` has those that are. */
export class MachineNotFound extends Error {
  override readonly name = 'MachineNotFound';
}

/** The pool refused a call, and nothing was changed. `message` says why: for files, every problem with its place. */
export class PoolRefused extends Error {
  override readonly name = 'PoolRefused';
  readonly pool: string;

  constructor(pool: string, why: string) {
    super(why);
    this.pool = pool;
  }
}

/** Something of a job is encrypted with a key that this client does not have. */
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
  /** What to do; absent where the message says it, or nothing better is known than to try again. */
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

/** Temporal answers, and no worker does. */
export class NoWorkerAnswers extends TemporalUnreachable {
  readonly isTemporalThere = true;
}

/** Temporal answers, and not as jobctl needs it: no rights, no such namespace, too old, a search attribute that is missing. */
export class TemporalRefused extends WithRemedy {
  override readonly name = 'TemporalRefused';
}

/** `jobctl serve` cannot be reached, or what it needs itself does not answer. */
export class ServerUnreachable extends WithRemedy {
  override readonly name = 'ServerUnreachable';
}

/** `jobctl serve` answers, and not as was wanted; or its address is none to which a token may be sent. */
export class ServerRefused extends WithRemedy {
  override readonly name = 'ServerRefused';
}

/** There is no token, or the server does not accept it: the message says which issuer, audience or time is wrong, never the token. */
export class NotLoggedIn extends WithRemedy {
  override readonly name = 'NotLoggedIn';
}

/** The server knows who asks, and does not let them. */
export class Forbidden extends WithRemedy {
  override readonly name = 'Forbidden';
}

/** The caller asked too often; nothing was done. */
export class TooManyRequests extends WithRemedy {
  override readonly name = 'TooManyRequests';
  /** When to ask again; undefined where the server does not say. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs: number | undefined, remedy?: string) {
    super(
      message,
      remedy ?? (retryAfterMs === undefined ? undefined : `try again in ${Math.ceil(retryAfterMs / 1000)} s`),
    );
    this.retryAfterMs = retryAfterMs;
  }
}

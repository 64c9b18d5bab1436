import type { AuditLine } from '../../contract/api/callers.js';
import type { RouteVerb } from '../../contract/operations.js';
import { ACCESS_TABLE, type AccessVerb } from '../../contract/access.js';
import { type AccessAnswer, type AccessObject, decideAccess } from '../../domain/access.js';
import { scheduleId } from '../../domain/schedule/schedule.js';
import { rolesOf } from '../../quota/membership.js';
import type { AuditLog } from '../audit/audit-log.js';
import type { Caller } from '../identity/verifier.js';
import { ApiError } from '../problem.js';
import type { JobFacts, JobFactsSource, PoolAccess, PoolRules } from './facts.js';
import type { Outcome } from '../../domain/job-state.js';
import { toldWithoutOutput } from '../../domain/output-lines.js';

/** The caller of one request, as the audit log records it. */
export interface Call {
  readonly caller: Caller;
  readonly requestId: string;
  /** Network address of the client. */
  readonly from: string;
  /** Hash of the request's body. */
  readonly inputSha256?: string;
}

/** Reading verbs that most callers are allowed, and that pages and programs repeat. Only their refusals are recorded. */
const UNRECORDED: ReadonlySet<RouteVerb> = new Set(['list', 'status', 'why', 'quota-show', 'quota-plan']);

interface GateParts {
  /** `trusted`: whoever calls may do everything, as with rights in Temporal and the bucket, and nothing is recorded (`jobctl ui`). */
  readonly rules: PoolRules | 'trusted';
  readonly facts: JobFactsSource;
  readonly audit: Pick<AuditLog, 'write'>;
  readonly decided: (verb: RouteVerb, decision: AuditLine['decision']) => void;
}

/**
 * Decides each call by the access table and records the decision before the call has any effect (docs/access.md). `refuse` and
 * `within` record a refusal for a reason outside the table. The error handler records any other one. Each is recorded once.
 */
export class Gate {
  readonly #parts: GateParts;
  readonly #recorded = new WeakSet<ApiError>();

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /** Nothing is refused, and no worker asks for a server's signature. */
  get isTrusted(): boolean {
    return this.#parts.rules === 'trusted';
  }

  /** @throws ApiError `forbidden`; JobNotFound */
  async job(call: Call, verbs: AccessVerb | OneOrMore, job: string): Promise<JobFacts> {
    const facts = await this.#parts.facts.of(job);
    await this.about(call, verbs, facts);
    return facts;
  }

  /**
   * @param verbs if there are several, the first refused one decides
   * @param beside runs after the table has allowed the call; a refusal by it is recorded instead of the permission
   * @throws ApiError `forbidden`, naming the callers who may
   */
  async about(
    call: Call,
    verbs: AccessVerb | OneOrMore,
    object: AccessObject,
    beside?: () => Promise<void>,
  ): Promise<void> {
    const asked: OneOrMore = typeof verbs === 'string' ? [verbs] : verbs;
    const answers = await Promise.all(
      asked.map(async (verb) => ({ verb, answer: await this.ask(call.caller, verb, object) })),
    );
    for (const { verb, answer } of answers)
      if (!answer.isAllowed) await this.refuse(call, verb, object, refusal(answer, object));
    if (beside !== undefined) await this.within(call, asked[0], object, beside);
    await Promise.all(answers.map(({ verb, answer }) => this.#record(call, verb, object, answer)));
  }

  /** Checks a call again that was allowed before. Only a refusal is recorded. @throws ApiError `forbidden` */
  async still(call: Call, verb: AccessVerb, job: string): Promise<void> {
    const facts = await this.#parts.facts.shared(job);
    const answer = await this.ask(call.caller, verb, facts);
    if (!answer.isAllowed) await this.refuse(call, verb, facts, refusal(answer, facts));
  }

  /** Returns the decision without recording it. */
  async ask(caller: Caller, verb: AccessVerb, object: AccessObject): Promise<AccessAnswer> {
    const { rules } = this.#parts;
    return rules === 'trusted' ? TRUSTED : answerTo(caller, verb, object, await rules.of(object.pool));
  }

  /** Records and throws `error`. */
  async refuse(call: Call, verb: RouteVerb, object: AccessObject, error: ApiError): Promise<never> {
    await this.#record(call, verb, object, { isAllowed: false, why: error.message });
    this.#recorded.add(error);
    throw error;
  }

  /**
   * Runs `decide`. Records a refusal by it, such as of a user's project at submit, in the same way as one of the access table.
   */
  async within<T>(call: Call, verb: RouteVerb, object: AccessObject, decide: () => T | Promise<T>): Promise<T> {
    try {
      return await decide();
    } catch (error) {
      if (this.isUnrecorded(error)) return this.refuse(call, verb, object, error);
      throw error;
    }
  }

  /** Returns whether `error` refuses a call and is not in the audit log yet. */
  isUnrecorded(error: unknown): error is ApiError {
    return error instanceof ApiError && error.code === 'forbidden' && !this.#recorded.has(error);
  }

  async #record(call: Call, verb: RouteVerb, object: AccessObject, answer: AccessAnswer): Promise<void> {
    const decision = answer.isAllowed ? 'allowed' : 'refused';
    this.#parts.decided(verb, decision);
    if (answer.isAllowed && UNRECORDED.has(verb)) return;
    const { caller, requestId, from, inputSha256 } = call;
    const { pool, project, schedule, owner } = object;
    const job = schedule === undefined ? object.job : scheduleId(schedule);
    await this.#parts.audit.write({
      at: Date.now(),
      requestId,
      subject: caller.id,
      kind: caller.kind,
      from,
      verb,
      pool,
      ...(project === undefined || project === '' ? {} : { project }),
      ...(job === undefined ? {} : { job }),
      ...(owner === undefined ? {} : { owner }),
      decision,
      ...(answer.isAllowed ? { as: answer.as } : { why: answer.why }),
      ...(inputSha256 === undefined ? {} : { inputSha256 }),
    });
  }
}

const TRUSTED: AccessAnswer = { isAllowed: true, as: 'operator' };

type OneOrMore = readonly [AccessVerb, ...AccessVerb[]];

function answerTo(caller: Caller, verb: AccessVerb, object: AccessObject, files: PoolAccess): AccessAnswer {
  const roles = rolesOf(caller, object, files);
  return decideAccess({ rule: ACCESS_TABLE[verb], subject: caller.id, roles, readers: files.rules.readers, object });
}

const refusal = ({ why }: { readonly why: string }, { job }: AccessObject): ApiError =>
  new ApiError('forbidden', why, `who may do what: jobctl access explain${job === undefined ? '' : ` --job ${job}`}`);

/** The facts of a job that every caller may see. */
interface Told {
  readonly why?: string;
  readonly outcome?: Outcome;
}

/**
 * Returns the facts as `caller` may see them. The texts of some failures contain lines of output, which belong to the job's logs:
 * a caller without a right to the logs gets the rest. The gate is asked only for such jobs.
 */
export async function toldTo<T extends Told>(gate: Gate, caller: Caller, object: AccessObject, told: T): Promise<T> {
  const cut = toldWithoutOutput(told);
  return cut === told || (await mayReadLogs(gate, caller, object)) ? told : cut;
}

/** Same as `toldTo`, for a row, which names its job's owner, project and pool. */
export const rowTo = <T extends Told & RowOf>(gate: Gate, caller: Caller, row: T): Promise<T> => {
  const { id: job, user: owner, project, pool } = row;
  return toldTo(gate, caller, { job, owner, project, pool }, row);
};

interface RowOf {
  readonly id: string;
  readonly user: string;
  readonly project: string;
  readonly pool: string;
}

async function mayReadLogs(gate: Gate, caller: Caller, object: AccessObject): Promise<boolean> {
  try {
    return (await gate.ask(caller, 'logs', object)).isAllowed;
  } catch (error) {
    // While the rules are unknown, the lines are left out for everyone, and the list is still answered.
    if (error instanceof ApiError && error.code === 'unavailable') return false;
    throw error;
  }
}

/** Longest use of a right after it is lost or its token has expired. The delay until changed files are read comes on top. */
const LOOK_MS = 10_000;

interface StandingRight {
  /** Aborted with the `ApiError` that gives the reason. */
  readonly lost: AbortSignal;
  /** Call it when the right is not used any longer. */
  end(): void;
}

interface Held {
  readonly call: Call;
  readonly verb: AccessVerb;
  readonly job: string;
  readonly lost: AbortController;
  /** The check in progress. If a slow check overlapped the next, one loss would be recorded twice. */
  look?: Promise<void> | undefined;
}

/**
 * Rights that are used for longer than one call, such as for following a log. The gate checks all of them again together, so that
 * a pool's files and a job's owner are read once per check, however many callers follow.
 */
export class StandingRights {
  readonly #gate: Gate;
  readonly #lookMs: number;
  readonly #held = new Set<Held>();
  #timer: NodeJS.Timeout | undefined;

  constructor(gate: Gate, lookMs = LOOK_MS) {
    this.#gate = gate;
    this.#lookMs = lookMs;
  }

  /** The number of rights in use. */
  get size(): number {
    return this.#held.size;
  }

  /** Starts to watch the right of a call that the gate has just allowed. */
  hold(call: Call, verb: AccessVerb, job: string): StandingRight {
    const held: Held = { call, verb, job, lost: new AbortController() };
    this.#held.add(held);
    this.#timer ??= setInterval(() => this.#look(), this.#lookMs).unref();
    return { lost: held.lost.signal, end: () => this.#end(held) };
  }

  #end(held: Held): void {
    this.#held.delete(held);
    if (this.#held.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    for (const held of this.#held) held.look ??= this.#check(held).finally(() => (held.look = undefined));
  }

  async #check(held: Held): Promise<void> {
    const { call, verb, job, lost } = held;
    try {
      refuseExpired(call);
      await this.#gate.still(call, verb, job);
    } catch (error) {
      // Unreadable files or an unreachable store take no right away: reading the log would fail as well.
      if (!(error instanceof ApiError) || !['forbidden', 'unauthenticated'].includes(error.code)) return;
      this.#end(held);
      lost.abort(error);
    }
  }
}

function refuseExpired({ caller: { expiresAt } }: Call): void {
  if (expiresAt > Date.now()) return;
  throw new ApiError(
    'unauthenticated',
    `the token has expired at ${new Date(expiresAt).toISOString()}`,
    'log in again: jobctl login; then go on behind the last event (Last-Event-ID)',
  );
}

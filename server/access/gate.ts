import type { AuditLine } from '../../contract/api/callers.js';
import type { ApiErrorCode } from '../../contract/api/failures.js';
import { type AccessAnswer, type AccessObject, type AccessVerb, decideAccess } from '../../domain/access/table.js';
import { rolesOf } from '../../quota/access-roles.js';
import type { AuditLog } from '../audit/audit-log.js';
import type { Caller } from '../identity/verifier.js';
import { ApiError } from '../problem.js';
import type { JobFacts, JobFactsSource } from './job-facts.js';
import type { PoolRules } from './pool-rules.js';

/** Who calls, as the audit log keeps it. */
export interface Call {
  readonly caller: Caller;
  readonly requestId: string;
  /** Address. */
  readonly from: string;
  /** Of the request's body. */
  readonly inputSha256?: string;
}

/** Looks that everybody has, and that pages and programs repeat: only a refusal of one is recorded. */
const UNRECORDED: ReadonlySet<AccessVerb> = new Set(['list', 'status', 'why', 'quota-show', 'quota-plan']);

export interface GateParts {
  readonly rules: PoolRules;
  readonly facts: JobFactsSource;
  readonly audit: AuditLog;
  readonly decided: (verb: AccessVerb, decision: AuditLine['decision']) => void;
}

/** Decides each call by the access table and records it, before anything is done (docs/access.md). */
export class Gate {
  readonly #parts: GateParts;

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /** @throws ApiError `forbidden`; JobNotFound */
  async job(call: Call, verb: AccessVerb, job: string): Promise<JobFacts> {
    const facts = await this.#parts.facts.of(job);
    await this.about(call, verb, facts);
    return facts;
  }

  /** @throws ApiError `forbidden` with who may */
  async about(call: Call, verb: AccessVerb, object: AccessObject): Promise<void> {
    const answer = await this.ask(call.caller, verb, object);
    await this.#record(call, verb, object, answer);
    if (!answer.isAllowed)
      throw new ApiError(
        'forbidden' satisfies ApiErrorCode,
        answer.why,
        `who may do what: jobctl access explain${object.job === undefined ? '' : ` --job ${object.job}`}`,
      );
  }

  /** The decision alone: nothing is recorded. */
  async ask(caller: Caller, verb: AccessVerb, object: AccessObject): Promise<AccessAnswer> {
    const files = await this.#parts.rules.of(object.pool);
    const roles = rolesOf(caller, object, files);
    return decideAccess({ verb, subject: caller.id, roles, readers: files.rules.readers, object });
  }

  async #record(call: Call, verb: AccessVerb, object: AccessObject, answer: AccessAnswer): Promise<void> {
    const decision = answer.isAllowed ? 'allowed' : 'refused';
    this.#parts.decided(verb, decision);
    if (answer.isAllowed && UNRECORDED.has(verb)) return;
    const { caller, requestId, from, inputSha256 } = call;
    const { pool, project, job, owner } = object;
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

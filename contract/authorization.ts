import { z } from 'zod';
import { canonicalJson } from '../domain/content-hash.js';
import { QUOTA_NAME } from '../domain/identity.js';
import type { EpochMs } from '../domain/units.js';
import { type Form, form } from './form.js';

/**
 * A statement of `jobctl serve` that a job belongs to its user: part of the input of a job's workflow in a pool in verified mode
 * (docs/adr/0080). A worker verifies it once, in `acceptJob`. The job's id is the nonce, because an id is never used twice. So
 * the statement does not expire, and a job may wait in line, or be reset, for as long as it takes.
 */
export interface JobAuthorization {
  readonly v: 1;
  /**
   * The job's id. For a member of an array: its group's id, in a retry followed by `-r<round>`. For a firing of a schedule:
   * `schedule/<name>`.
   */
  readonly job: string;
  readonly pool: string;
  /** The quota project that the job runs in. */
  readonly project: string;
  /** The verified user, whose job it is. */
  readonly user: string;
  /** The service that submitted the job for `user`. Absent: the user submitted it. */
  readonly service?: string;
  /** SHA-256 of `submittedText`: 64 hex digits. */
  readonly sha256: string;
  /** When it was submitted. */
  readonly at: EpochMs;
  /** Id of the server's key. A worker has the public half under this name. */
  readonly key: string;
  /** Ed25519 over `signedText`, in base64url without padding: 86 characters. */
  readonly signature: string;
}

/** The fields that the signed text holds. */
export type AuthorizationStatement = Omit<JobAuthorization, 'signature'>;

const name = z.string().regex(QUOTA_NAME);
const schema = z.strictObject({
  v: z.literal(1),
  job: z.string().min(1).max(63),
  pool: name,
  project: name,
  user: name,
  service: name.optional(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  at: z.int().min(0),
  key: z.string().regex(/^[\w.-]{1,64}$/),
  signature: z.string().regex(/^[\w-]{86}$/),
});
export const authorizationForm: Form<JobAuthorization> = form(schema as z.ZodType<JobAuthorization>);

/** A job's input (`JobInput`). These keys are not part of the signed text. */
interface SignedInput {
  readonly authorization?: unknown;
  readonly carry?: unknown;
  readonly member?: unknown;
  readonly firing?: unknown;
}

/**
 * The signed part of a job's input: all of it except the signature itself, the state that its workflow carries over, and its
 * place in an array or a schedule. The place need not be signed: the id tells it, and the statement names the group or schedule
 * (docs/adr/0157, 0159).
 */
export function submittedText({
  authorization: _,
  carry: __,
  member: ___,
  firing: ____,
  ...submitted
}: SignedInput): string {
  return canonicalJson(submitted);
}

/** The text that is signed. Its first line names its purpose, so that it cannot pass for another text that the key signs. */
export const signedText = (statement: AuthorizationStatement): string =>
  `jobctl job submission v1\n${canonicalJson(statement)}`;

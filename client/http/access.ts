import { type AnswerOf, OPERATIONS } from '../../contract/operations.js';
import type { HostAccess } from '../../contract/api/hosts.js';
import type { Purged } from '../job-records.js';
import { JobRefused, ServerRefused, ServerUnreachable } from '../errors.js';
import { meaningsOfJob, errorOf, jsonOf, ServerCalls } from './server-calls.js';
import { type ServerOptions, addressProblem, serverAddress } from './server-options.js';
import { ConnectionLost, exchange } from './exchange.js';

type Explained = AnswerOf<'accessExplain'>['rows'];

/** The caller's rights by the access table, with the reason for each refusal. @param about absent fields: the caller's own */
export async function accessRows(
  options: ServerOptions,
  about: { readonly job?: string; readonly project?: string; readonly verb?: string; readonly pool?: string },
): Promise<Explained> {
  return (await new ServerCalls(options).json('accessExplain', { query: { ...about } })).rows;
}

export interface AuditWish {
  readonly user?: string;
  readonly job?: string;
  /** Milliseconds since 1970. Absent: a day ago. */
  readonly since?: number;
  readonly limit?: number;
  readonly pool?: string;
}

/** Lines of the audit log, newest last, for operators. If not all could be read, the answer says from which time on. */
export const auditLines = (options: ServerOptions, wish: AuditWish): Promise<AnswerOf<'audit'>> =>
  new ServerCalls(options).json('audit', { query: { ...wish } });

/** Names and fingerprints of the secrets that the caller's jobs may use in a project. @param project absent: the caller's own */
export const secretNames = async (
  options: ServerOptions,
  project?: string,
): Promise<AnswerOf<'secretNames'>['secrets']> =>
  (await new ServerCalls(options).json('secretNames', { query: { project } })).secrets;

/**
 * The login to a job's hosts, for its user and operators. Keep it in memory, and only as long as needed. The audit log records
 * each call.
 * @throws Forbidden; JobRefused with the remedy if no key of the job logs in; JobNotFound
 */
export function hostAccess(options: ServerOptions, id: string): Promise<HostAccess> {
  const calls = new ServerCalls(options);
  const refused = (why: string, remedy?: string): Error => new JobRefused(id, why, remedy);
  return calls.json('hostAccess', { params: { id }, meanings: { ...meaningsOfJob(id, calls.address), refused } });
}

/** Like `purgeJob`, on the server; repeating is safe. @throws JobRefused if the job is open or slices are left; JobNotFound */
export function purgeOverHttp(options: ServerOptions, id: string): Promise<Purged> {
  const calls = new ServerCalls(options);
  return calls.json('delete', { params: { id }, meanings: meaningsOfJob(id, calls.address) });
}

/** An issuer whose tokens the server accepts, and the server's client there. */
export type LoginIssuer = AnswerOf<'login'>['issuers'][number];

const TIMEOUT_MS = 15_000;

/** Reads the ways to log in; no token is needed for this. @throws ServerUnreachable, ServerRefused */
export async function loginSettings({
  server,
  ca,
}: Pick<ServerOptions, 'server' | 'ca'>): Promise<readonly LoginIssuer[]> {
  const base = serverAddress(server);
  const address = base.href.replace(/\/$/, '');
  const answer = await exchange(new URL(`.${OPERATIONS.login.call.replace(/^GET /, '')}`, base), {
    ...{ method: 'GET', headers: {}, timeoutMs: TIMEOUT_MS, ca },
  }).catch((error: unknown) => {
    if (!(error instanceof ConnectionLost)) throw error;
    throw new ServerUnreachable(`jobctl serve at ${address} cannot be reached: ${error.message}`);
  });
  if (answer.status >= 300) throw errorOf(answer, address);
  const { issuers } = jsonOf<AnswerOf<'login'>>(answer, address);
  for (const { issuer } of issuers) {
    const problem = addressProblem(issuer, base);
    if (problem !== undefined) throw new ServerRefused(`${address} names an issuer, ${issuer}, that ${problem}`);
  }
  return issuers;
}

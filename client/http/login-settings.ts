import { type AnswerOf, OPERATIONS } from '../../contract/operations.js';
import { ServerRefused, ServerUnreachable } from '../errors.js';
import { ConnectionLost, exchange } from './exchange.js';
import { errorOf, jsonOf } from './problems.js';
import { addressProblem, serverAddress, type ServerOptions } from './server-options.js';

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

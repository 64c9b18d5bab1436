import { createHmac } from 'node:crypto';
import type { AttemptInput } from '../../contract/job-activities.js';
import { rayOf } from '../../domain/modules/command.js';
import { rayVariables } from '../../domain/modules/ray-run.js';
import type { Installation } from '../dependencies.js';
import { type AttemptHost, runIdOf } from './attempt-hosts.js';

/**
 * Variables by which a host finds the Ray of its attempt. The token is derived from the installation's key, so every worker has
 * the same one and none stores it: it is in no history, object or log (docs/adr/0068).
 * @returns nothing for a job without Ray
 */
export function rayPlace(
  { owner, sshKey }: Pick<Installation, 'owner' | 'sshKey'>,
  input: Pick<AttemptInput, 'spec' | 'slices' | 'job' | 'attempt'>,
  { number }: AttemptHost,
): Readonly<Record<string, string>> {
  if (rayOf(input.spec) === undefined) return {};
  const token = createHmac('sha256', sshKey.privateKey)
    .update(`ray\n${owner}\n${runIdOf(input)}`)
    .digest('hex');
  const addresses = input.slices.flatMap(({ hosts }) => hosts.map(({ internalIp }) => internalIp));
  return rayVariables({ addresses, number, token });
}

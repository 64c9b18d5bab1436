import { publicLineFingerprint } from '../../../cloud/hosts/private-key.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { ServerPlace } from '../../place/context.js';
import { explainedBy } from '../../place/login/server-failures.js';

/**
 * The job's own key from the server, for its user and operators, fetched each time. It is in a file of this computer only while
 * OpenSSH runs.
 * @param wanted fingerprint of the key that the hosts accept
 * @throws CliError, Forbidden, JobRefused, ServerRefused ..
 */
export async function keyByServer(place: ServerPlace, job: string, wanted: string): Promise<string> {
  const [{ hostAccess }, { serverOptionsOf }] = await Promise.all([
    import('../../../client/http/access.js'),
    import('../../place/login/server-access.js'),
  ]);
  const { privateKey, publicKey } = await hostAccess(serverOptionsOf(place), job).catch((error: unknown) => {
    throw explainedBy(place, error);
  });
  const given = publicLineFingerprint(publicKey);
  if (given === wanted) return privateKey;
  throw new CliError(
    ExitCode.Refused,
    `${place.url} gave the key ${given ?? 'of no readable form'} for ${job}, and its hosts accept ${wanted}`,
    'tell the operator of the server',
  );
}

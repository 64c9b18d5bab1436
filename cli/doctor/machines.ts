import { asker } from '../place/asker.js';
import { withClient } from '../place/connect.js';
import { resolveContext } from '../place/context.js';
import { type Diagnosis, type DoctorFlags, warning } from './finding.js';

/** `jobctl doctor --machines`: a worker looks at each machine of the pool, and changes nothing. @throws CliError, PoolRefused */
export async function diagnoseMachines(_file: string | undefined, flags: DoctorFlags): Promise<Diagnosis> {
  const pool = flags.pool ?? 'default';
  const context = resolveContext(flags.bucket === undefined ? {} : { bucket: flags.bucket });
  const { by } = asker(undefined, context);
  const { examined = [] } = await withClient(context, (client) =>
    client.machines(pool).call({ verb: 'examine', names: [], by }),
  );
  const findings = examined.flatMap(({ name, findings: each }) =>
    each.map((finding) => ({ ...finding, check: `${name} ${finding.check}` })),
  );
  const none = warning(
    'machines',
    `pool ${pool} has no machines of its own`,
    'name them in [[machines]] of its pool file',
  );
  return { account: { pool }, findings: findings.length === 0 ? [none] : findings };
}

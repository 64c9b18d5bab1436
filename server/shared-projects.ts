import { parseQuotaFile } from '../quota/files/quota-file.js';
import { rolesOf } from '../quota/access-roles.js';
import { findProject } from '../quota/quota-config.js';
import type { PoolFileText } from '../client/pool-client.js';
import type { Caller } from './identity/verifier.js';
import type { PoolRules } from './access/pool-rules.js';
import { ApiError } from './problem.js';

/**
 * Secrets go by a project's name, in whichever pool its job runs (docs/adr/0087). So a quota file brings the name of another pool's
 * project into a pool only by the hand of somebody who is operator of both; one that is there already stays as its operators say.
 * @throws ApiError `forbidden`; `unavailable` where the files of a pool are not known
 */
export async function refuseForeignProjects(
  rules: PoolRules,
  caller: Caller,
  pool: string,
  { name, text }: PoolFileText,
): Promise<void> {
  const parsed = parseQuotaFile(text, name);
  // What is wrong with it the worker says.
  if (!parsed.ok) return;
  const present = await rules.of(pool);
  const added = parsed.config.projects.filter((project) => findProject(present.config, project.name) === undefined);
  for (const other of await rules.names()) {
    if (other === pool || added.length === 0) continue;
    const files = await rules.of(other);
    const shared = added.find((project) => findProject(files.config, project.name) !== undefined);
    if (shared === undefined || rolesOf(caller, { pool: other }, files).includes('operator')) continue;
    throw new ApiError(
      'forbidden',
      `${name}: project ${shared.name} is one of pool ${other} too, and ${caller.id} is no operator there: its members could read the project's secrets`,
      'ask an operator of both pools to apply the file, or choose another name',
    );
  }
}

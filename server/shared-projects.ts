import { rolesOf } from '../quota/access-roles.js';
import { findProject } from '../quota/quota-config.js';
import type { PoolFileText } from '../client/pool-client.js';
import type { DearWork } from './dear-work.js';
import type { Caller } from './identity/verifier.js';
import { ApiError } from './problem.js';
import type { Services } from './services.js';

/**
 * Secrets belong to a project's name, in whichever pool its job runs (docs/adr/0087). So only an operator of both pools may bring
 * the name of another pool's project into a quota file. A name that the pool has already stays.
 * @throws ApiError `forbidden`; `unavailable` if the files of a pool are not known
 */
export async function refuseForeignProjects(
  { rules, dear }: { readonly rules: Pick<Services['rules'], 'of' | 'names'>; readonly dear: Pick<DearWork, 'run'> },
  caller: Caller,
  pool: string,
  { name, text }: PoolFileText,
): Promise<void> {
  const projects = await dear.run('projects', { name, text }, caller.id);
  const present = await rules.of(pool);
  const added = projects.filter((project) => findProject(present.config, project) === undefined);
  for (const other of await rules.names()) {
    if (other === pool || added.length === 0) continue;
    const files = await rules.of(other);
    const shared = added.find((project) => findProject(files.config, project) !== undefined);
    if (shared === undefined || rolesOf(caller, { pool: other }, files).includes('operator')) continue;
    throw new ApiError(
      'forbidden',
      `${name}: project ${shared} is one of pool ${other} too, and ${caller.id} is no operator there: its members could read the project's secrets`,
      'ask an operator of both pools to apply the file, or choose another name',
    );
  }
}

import type { JobSpec } from '../../../domain/job-spec.js';
import type { CliContext } from '../context.js';
import { secretNames } from '../job-keys.js';

type KnownStore = Pick<CliContext, 'secretStore'>;

/**
 * Copies the secrets that a job names from the user's own store into that of its rehearsal, which is removed with the stack. Where
 * the user's is not known, or a secret is not in it, the rehearsal's worker says what is missing.
 */
export async function lendSecrets(spec: JobSpec, { secretStore: from }: KnownStore, to: KnownStore): Promise<void> {
  const names = new Set(secretNames(spec).map(({ name }) => name));
  if (names.size === 0 || from === undefined || to.secretStore === undefined) return;
  const { openSecretStore } = await import('../../../cloud/secrets/open-secret-store.js');
  const [own, lent] = [openSecretStore(from), openSecretStore(to.secretStore)];
  for (const name of names) {
    const value = await own.read(name);
    if (value !== undefined) await lent.put(name, value);
  }
}

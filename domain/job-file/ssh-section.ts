import type { JobSpec } from '../job-spec.js';
import type { SshIdentity } from '../setup-spec.js';
import { given } from './plain-values.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

/** The key that connects: JobMan's first or later words for it. */
export function resolveSsh(file: JobFile): JobSpec['ssh'] {
  const form = given(file.ssh);
  const privateKey = form?.private_key ?? form?.tpu_private_key;
  const publicKey = form?.public_key ?? form?.tpu_public_key;
  if (!privateKey) return undefined;
  return { privateKey, ...(publicKey ? { publicKey } : {}) };
}

/**
 * The keys that the module `ssh` copies to every host: the later JobMan's `identities`; and the first one's only pair, with
 * which the hosts reach each other (facts/predecessors.md 1.3).
 */
export function resolveIdentities(file: JobFile, report: Report): readonly SshIdentity[] {
  const form = given(file.ssh);
  const pair: SshIdentity[] = form?.tpu_private_key
    ? [
        {
          privateKey: form.tpu_private_key,
          ...(form.tpu_public_key ? { publicKey: form.tpu_public_key } : {}),
          isBetweenHosts: true,
        },
      ]
    : [];
  const identities = (form?.identities ?? []).map(({ private_key, public_key, config_entry }): SshIdentity => ({
    privateKey: private_key,
    ...(public_key ? { publicKey: public_key } : {}),
    ...(config_entry ? { configEntry: config_entry } : {}),
  }));
  checkNames(form?.identities ?? [], report);
  return [...pair, ...identities];
}

/** They land in ~/.ssh under their base names. */
function checkNames(identities: readonly { readonly private_key: string }[], report: Report): void {
  const seen = new Map<string, number>();
  identities.forEach(({ private_key }, index) => {
    const path = ['ssh', 'identities', index, 'private_key'];
    const name = baseName(private_key);
    const first = seen.get(name);
    if (RESERVED.has(name)) report.wrong(path, private_key, `a file that ssh itself has`, 'give the key another name');
    else if (first !== undefined)
      report.problem(
        path,
        private_key,
        `would land on the key of identities[${first}], ~/.ssh/${name}`,
        'give one of them another name',
      );
    seen.set(name, index);
  });
}

const RESERVED = new Set(['config', 'authorized_keys', 'known_hosts', '']);

/** Of a path, or of `secret:NAME`. */
export const baseName = (path: string): string => path.slice(Math.max(path.lastIndexOf('/'), path.indexOf(':')) + 1);

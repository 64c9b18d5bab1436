import type { ModuleFile, ModulePlan } from '../../cloud/hosts/port.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { secretNamed } from '../../domain/secret-reference.js';
import type { SshIdentity } from '../../domain/setup-spec.js';
import { shellQuote } from '../../domain/shell-quote.js';
import { namedKeyPair } from '../connecting-key.js';
import type { Installation } from '../dependencies.js';
import { contentHashOf, fingerprintOf } from './fingerprint.js';
import type { KeyPair } from './sources.js';

/** Reads the pairs of a job's identities. @throws InvalidJob as `namedKeyPair` does */
export function identityKeys(
  installation: Installation,
  { identities = [] }: Pick<JobSpec, 'identities'>,
): Promise<KeyPair[]> {
  return Promise.all(
    identities.map((identity) =>
      namedKeyPair(installation, identity, [fieldOf(identity, 'private_key'), fieldOf(identity, 'public_key')]),
    ),
  );
}

/** Where the job file names one half of it. */
export const fieldOf = ({ isBetweenHosts }: SshIdentity, key: 'private_key' | 'public_key'): string =>
  `${isBetweenHosts ? 'ssh.tpu_' : 'ssh.identities: '}${key}`;

const FORMAT = 1;
const BEGIN = '# >>> jobctl: these lines are written anew with each set-up';
const END = '# <<< jobctl';

/**
 * Keys of the job's on every host, in ~/.ssh with modes 600 and 644, and their entries in ~/.ssh/config, between two marker
 * lines: what else is there stays. With the pair of the first JobMan the hosts of a job reach each other, over slices too.
 * @param keys of the identities, in their order
 */
export function sshModule(identities: readonly SshIdentity[], keys: readonly KeyPair[]): ModulePlan {
  const pairs = identities.map((identity, index) => {
    const pair = keys[index];
    if (pair === undefined) throw new RangeError(`ssh: the key '${identity.privateKey}' was not given`);
    return { identity, pair };
  });
  const files = pairs.flatMap(({ identity, pair }) => filesOf(identity, pair));
  const block = [BEGIN, ...pairs.map(({ identity }) => entryOf(identity)), END].join('\n');
  const authorized = pairs.filter(({ identity }) => identity.isBetweenHosts).map(({ pair }) => pair.publicKey.trim());
  const hashes = files.map(({ path, mode, content }) => [path, mode, contentHashOf(content)]);
  return {
    name: 'ssh',
    fingerprint: fingerprintOf(FORMAT, hashes, block, authorized),
    check: checkScript(files, block, authorized),
    steps: [
      { name: 'keys', files, script: 'chmod 700 "$HOME/.ssh"' },
      { name: 'config', script: configScript(block) },
      ...(authorized.length === 0 ? [] : [{ name: 'authorize', script: authorizeScript(authorized) }]),
    ],
  };
}

/** Of a path, or of the secret. */
function nameOf({ privateKey }: SshIdentity): string {
  return secretNamed(privateKey) ?? privateKey.slice(privateKey.lastIndexOf('/') + 1);
}

function filesOf(
  identity: SshIdentity,
  { privateKey, publicKey }: KeyPair,
): readonly (ModuleFile & { content: Buffer })[] {
  const path = `.ssh/${nameOf(identity)}`;
  return [
    { path, mode: 0o600, content: Buffer.from(`${privateKey.trimEnd()}\n`) },
    { path: `${path}.pub`, mode: 0o644, content: Buffer.from(`${publicKey.trim()}\n`) },
  ];
}

/** Private addresses: those of a VPC, and of hosts on one computer. */
const NEIGHBOURS = 'Host 10.* 172.16.* 172.17.* 172.18.* 172.19.* 172.2?.* 172.30.* 172.31.* 192.168.* 127.*';

/** Addresses of TPU VMs are used again by others: a host key that was learned before would only be in the way. */
function entryOf(identity: SshIdentity): string {
  const file = `  IdentityFile ~/.ssh/${nameOf(identity)}`;
  const { configEntry } = identity;
  if (configEntry !== undefined) {
    const text = configEntry.trimEnd();
    const scoped = /^\s*(host|match)\s/i.test(text) ? text : `Host *\n${text}`;
    return /^\s*identityfile\s/im.test(text) ? scoped : `${scoped}\n${file}`;
  }
  if (!identity.isBetweenHosts) return `Host *\n${file}`;
  const trust = ['StrictHostKeyChecking no', 'UserKnownHostsFile /dev/null', 'LogLevel ERROR'];
  return [NEIGHBOURS, file, ...trust.map((line) => `  ${line}`)].join('\n');
}

function checkScript(files: readonly ModuleFile[], block: string, authorized: readonly string[]): string {
  const sums = files.map(({ path, content }) => `${contentHashOf(content)}  ${path}`).join('\n');
  const modes = files.map(({ path, mode }) => `${mode.toString(8)} ${path}`).join('\n');
  const paths = files.map(({ path }) => shellQuote(path)).join(' ');
  return `cd "$HOME" || exit 1
printf '%s\\n' ${shellQuote(sums)} | sha256sum --status -c - || exit 1
[ "$(stat -c '%a %n' ${paths})" = ${shellQuote(modes)} ] || exit 1
[ "$(${CUT_BLOCK} .ssh/config)" = ${shellQuote(block)} ] || exit 1
${authorized.map((key) => `grep -qxF -e ${shellQuote(key)} .ssh/authorized_keys || exit 1`).join('\n')}
`;
}

const CUT_BLOCK = `sed -n '/^# >>> jobctl/,/^# <<< jobctl/p'`;

/** At the end, so that what the host's own config says of a name is said first. */
function configScript(block: string): string {
  return `umask 077
config=$HOME/.ssh/config
touch "$config" && chmod 600 "$config" || exit 1
rest=$(sed '/^# >>> jobctl/,/^# <<< jobctl/d' "$config") || exit 1
printf '%s' "\${rest:+$rest
}" > "$config.jobctl-new" && printf '%s\\n' ${shellQuote(block)} >> "$config.jobctl-new" &&
  cat "$config.jobctl-new" > "$config" && rm -f "$config.jobctl-new"
`;
}

function authorizeScript(keys: readonly string[]): string {
  return `umask 077
file=$HOME/.ssh/authorized_keys
touch "$file" && chmod 600 "$file" || exit 1
for key in ${keys.map(shellQuote).join(' ')}; do
  grep -qxF -e "$key" "$file" && continue
  [ -z "$(tail -c 1 "$file")" ] || echo >> "$file"
  printf '%s\\n' "$key" >> "$file" || exit 1
done
`;
}

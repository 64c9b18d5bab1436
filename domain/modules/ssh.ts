import { z } from 'zod';
import { section, text } from '../job-file/fields.js';
import type { Report } from '../job-file/report.js';
import { secretNamed } from '../secrets.js';
import { shellQuote } from '../shell-quote.js';
import {
  fingerprintOf,
  type KeyPair,
  type ModuleFile,
  type ModulePlan,
  type PlanSources,
  setUpModule,
} from './module.js';
import { WrongInput } from '../errors.js';

/** A key pair that every host gets. */
export interface SshIdentity {
  /** A file of the submitter, or `secret:NAME`. */
  readonly privateKey: string;
  /** Absent: the private key's path with `.pub`. */
  readonly publicKey?: string;
  /** Lines for `~/.ssh/config`; `IdentityFile` may be left out. */
  readonly configEntry?: string;
  /** The job's hosts log in to one another with this key, over all slices: the only pair of JobMan v1. */
  readonly isBetweenHosts?: true;
}

const form = () =>
  section({
    private_key: text().nullish().describe('The key that connects; a file of the submitter.'),
    public_key: text().nullish(),
    tpu_private_key: text().nullish().describe('The key that connects, and with which the hosts reach each other.'),
    tpu_public_key: text().nullish(),
    identities: z
      .array(section({ private_key: text(), public_key: text().nullish(), config_entry: text().nullish() }), {
        error: 'a list of identities',
      })
      .nullish()
      .describe('Keys that every host gets, and their entries in ~/.ssh/config.'),
  });

type SshSection = z.infer<ReturnType<typeof form>>;

/**
 * Keys on every host, in ~/.ssh with modes 600 and 644, and their entries in ~/.ssh/config between two marker lines. Other lines
 * of that file stay. The key with which workers connect needs no module: `connectingKeyOf` reads it.
 */
export const ssh = setUpModule({
  name: 'ssh',
  specKey: 'identities',
  kind: 'inputs',
  form,
  notInPods: {
    message: 'is for VMs: exec reaches a pod, which has no SSH server and no login user',
    hint: 'leave ssh out; a key that the command needs is a secret of the cluster, mounted by kubernetes.secrets, or a file',
  },
  example: 'such as ssh: {private_key: ~/.ssh/id_ed25519}',
  resolve: (section, { report }) => {
    const identities = identitiesOf(section);
    checkNames(section.identities ?? [], report);
    return identities.length === 0 ? undefined : identities;
  },
  plan,
});

/** The key pair with which workers connect to the hosts, by its names in either version of JobMan. */
export function connectingKeyOf(
  section: SshSection | null | undefined,
): { readonly privateKey: string; readonly publicKey?: string } | undefined {
  const privateKey = section?.private_key ?? section?.tpu_private_key;
  const publicKey = section?.public_key ?? section?.tpu_public_key;
  if (!privateKey) return undefined;
  return { privateKey, ...(publicKey ? { publicKey } : {}) };
}

/** The pair of JobMan v1, by which the hosts reach each other, then the `identities` of v2 (docs/facts.md, "Predecessors"). */
function identitiesOf({ tpu_private_key, tpu_public_key, identities }: SshSection): readonly SshIdentity[] {
  const pair: SshIdentity[] = tpu_private_key
    ? [
        {
          privateKey: tpu_private_key,
          ...(tpu_public_key ? { publicKey: tpu_public_key } : {}),
          isBetweenHosts: true,
        },
      ]
    : [];
  const others = (identities ?? []).map(({ private_key, public_key, config_entry }): SshIdentity => ({
    privateKey: private_key,
    ...(public_key ? { publicKey: public_key } : {}),
    ...(config_entry ? { configEntry: config_entry } : {}),
  }));
  return [...pair, ...others];
}

/** Each key is written to ~/.ssh under its base name, so the names must differ. */
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

/** The base name of a path, or of `secret:NAME`. */
const baseName = (path: string): string => path.slice(Math.max(path.lastIndexOf('/'), path.indexOf(':')) + 1);

// Plan ---------------------------------------------------------------------------------------------------------------

const FORMAT = 1;
const BEGIN = '# >>> jobctl: these lines are written anew with each set-up';
const END = '# <<< jobctl';

function plan(identities: readonly SshIdentity[], sources: PlanSources): ModulePlan {
  const pairs = identities.map((identity, index) => {
    const pair = sources.keys[index];
    if (pair === undefined) throw new WrongInput(`ssh: the key '${identity.privateKey}' was not given`);
    return { identity, pair };
  });
  const files = pairs.flatMap(({ identity, pair }) => filesOf(identity, pair, sources));
  const block = [BEGIN, ...pairs.map(({ identity }) => entryOf(identity)), END].join('\n');
  const authorized = pairs.filter(({ identity }) => identity.isBetweenHosts).map(({ pair }) => pair.publicKey.trim());
  const hashes = files.map(({ path, mode, sha256 }) => [path, mode, sha256]);
  const contents = files.map(({ path, mode, content }): ModuleFile => ({ path, mode, content }));
  return {
    name: 'ssh',
    fingerprint: fingerprintOf(sources, FORMAT, hashes, block, authorized),
    check: checkScript(files, block, authorized),
    steps: [
      { name: 'keys', files: contents, script: 'chmod 700 "$HOME/.ssh"' },
      { name: 'config', script: configScript(block) },
      ...(authorized.length === 0 ? [] : [{ name: 'authorize', script: authorizeScript(authorized) }]),
    ],
  };
}

type HashedFile = ModuleFile & { readonly sha256: string };

/** The base name of the key's path, or the name of its secret. */
function nameOf({ privateKey }: SshIdentity): string {
  return secretNamed(privateKey) ?? privateKey.slice(privateKey.lastIndexOf('/') + 1);
}

function filesOf(identity: SshIdentity, pair: KeyPair, { sha256 }: PlanSources): readonly HashedFile[] {
  const path = `.ssh/${nameOf(identity)}`;
  const file = (path: string, content: string, mode: number): HashedFile => ({
    ...{ path, content, mode },
    sha256: sha256(content),
  });
  return [
    file(path, `${pair.privateKey.trimEnd()}\n`, 0o600),
    file(`${path}.pub`, `${pair.publicKey.trim()}\n`, 0o644),
  ];
}

/** Private addresses: those of a VPC, and of hosts on one computer. */
const PRIVATE_ADDRESSES = 'Host 10.* 172.16.* 172.17.* 172.18.* 172.19.* 172.2?.* 172.30.* 172.31.* 192.168.* 127.*';

/** Host keys are not kept: addresses of TPU VMs are reused, and a key from an earlier VM would block the login. */
function entryOf(identity: SshIdentity): string {
  const file = `  IdentityFile ~/.ssh/${nameOf(identity)}`;
  const { configEntry } = identity;
  if (configEntry !== undefined) {
    const text = configEntry.trimEnd();
    const scoped = /^\s*(host|match)\s/i.test(text) ? text : `Host *\n${text}`;
    return /^[ \t]*identityfile\s/im.test(text) ? scoped : `${scoped}\n${file}`;
  }
  if (!identity.isBetweenHosts) return `Host *\n${file}`;
  const trust = ['StrictHostKeyChecking no', 'UserKnownHostsFile /dev/null', 'LogLevel ERROR'];
  return [PRIVATE_ADDRESSES, file, ...trust.map((line) => `  ${line}`)].join('\n');
}

function checkScript(files: readonly HashedFile[], block: string, authorized: readonly string[]): string {
  const sums = files.map(({ path, sha256 }) => `${sha256}  ${path}`).join('\n');
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

/** Appends the block, because in ssh's config the first match wins: the host's own entries stay in force. */
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

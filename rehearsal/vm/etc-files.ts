import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';

/** Files of /etc that every VM has for itself. */
export const ETC_FILES = ['hosts', 'hostname', 'resolv.conf', 'passwd', 'group', 'shadow', 'gshadow'] as const;

export interface EtcPlan {
  readonly hostname: string;
  /** The hosts of the slice. */
  readonly hosts: readonly { readonly hostname: string; readonly address: string }[];
  /** Address of the VM, where its metadata server listens. Absent: no metadata server. */
  readonly address?: string;
  /** Login names that the VM knows from the start. Google's guest agent makes them from `ssh-keys`. */
  readonly users: readonly string[];
}

/** First user and group id of people, in every distribution. This computer's people do not exist in the VM. */
const FIRST_PERSON = 1000;

/**
 * Writes the VM's own files of /etc while it is down. Changes that a VM's user made in passwd and the like stay; hosts, hostname
 * and resolv.conf are those of this boot.
 */
export function writeEtc(folder: string, plan: EtcPlan): void {
  makeFolderSync(folder);
  const write = (file: (typeof ETC_FILES)[number], content: string, mode = 0o644): void =>
    writeFileSync(join(folder, file), content, { mode });
  write('hosts', hostsFile(plan));
  write('hostname', `${plan.hostname}\n`);
  write('resolv.conf', readOr('/etc/resolv.conf', ''));
  for (const file of ['passwd', 'group'] as const) {
    const own = join(folder, file);
    const kept = existsSync(own) ? readFileSync(own, 'utf8') : systemEntries(readOr(`/etc/${file}`, ROOT_ENTRY[file]));
    const added = plan.users.filter((user) => !hasEntry(kept, user)).map((user) => entryOf(user)[file]);
    write(file, [...added, kept].join(''));
  }
  for (const file of ['shadow', 'gshadow'] as const) {
    if (!existsSync(join(folder, file)))
      write(file, file === 'shadow' ? 'root:*:19000:0:99999:7:::\n' : 'root:*::\n', 0o600);
  }
}

const ROOT_ENTRY = { passwd: 'root:x:0:0:root:/root:/bin/bash\n', group: 'root:x:0:\n' } as const;

/**
 * A user's lines. All users of a VM are root to the kernel, so they need no real sudo. The first line with id 0 gives the id its
 * name, so a user's line comes before root's (README.md, "TPU VMs").
 */
function entryOf(user: string): { readonly passwd: string; readonly group: string } {
  return { passwd: `${user}:x:0:0::/home/${user}:/bin/bash\n`, group: `${user}:x:0:\n` };
}

/** Adds user `$1` in a running VM. Files are written in place: a file that is a mount cannot be replaced. */
export const ADD_USER = `set -e
grep -q "^$1:" /etc/passwd && exit 0
for file in passwd:"$1:x:0:0::/home/$1:/bin/bash" group:"$1:x:0:"; do
  { printf '%s\\n' "\${file#*:}"; cat "/etc/\${file%%:*}"; } > "/run/.\${file%%:*}"
  cat "/run/.\${file%%:*}" > "/etc/\${file%%:*}"
done`;

function hasEntry(text: string, name: string): boolean {
  return text.split('\n').some((line) => line.startsWith(`${name}:`));
}

function systemEntries(text: string): string {
  const kept = text.split('\n').filter((line) => {
    const id = Number(line.split(':')[2]);
    return line !== '' && !Number.isNaN(id) && (id < FIRST_PERSON || id >= 60_000);
  });
  return kept.map((line) => `${line}\n`).join('');
}

function hostsFile({ hosts, address }: EtcPlan): string {
  const slice = hosts.map((host) => `${host.address} ${host.hostname}`);
  const metadata = address === undefined ? [] : [`${address} metadata.google.internal metadata`];
  return ['127.0.0.1 localhost', '::1 localhost ip6-localhost', ...slice, ...metadata, ''].join('\n');
}

function readOr(file: string, otherwise: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : otherwise;
}

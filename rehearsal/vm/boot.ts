import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ETC_FILES } from './etc-files.js';
import { systemFolders, visibleFolders } from './visible-folders.js';

/** `overlay`: the VM can change what it sees of this computer, for itself only. `read-only`: it cannot. */
export type RootKind = 'overlay' | 'read-only';

export interface BootPlan {
  readonly disk: string;
  readonly hostname: string;
  readonly root: RootKind;
  /** Folder of commands, which the VM finds at /opt/rehearsal/bin. */
  readonly tools?: string | undefined;
  /** Identifies the VM among all VMs of this computer; set in the environment of its processes. */
  readonly mark: string;
  /** A trial boot: the VM ends as soon as it is up. */
  readonly isProbe?: boolean;
  /** The first process, instead of a VM's own init. Its output goes to descriptor 3. */
  readonly command?: readonly string[];
  readonly volumes?: readonly VolumeMount[];
}

/** A folder or file of this computer, mounted at another path in the machine. */
export interface VolumeMount {
  /** Absolute; without line ends or tabs. */
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
}

export interface BootCommand {
  readonly argv: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string>>;
}

// Without --norc, bash reads the .bashrc of the rehearsal's user if its stdin is a socket, as Node's pipes are.
const BASH = ['bash', '--norc', '--noprofile', '-c'];

const SCRIPT = readFileSync(new URL('./boot.sh', import.meta.url), 'utf8');

/** Folder of the VM's own /etc files: they must be there before it boots. */
export function etcFolder(disk: string, root: RootKind): string {
  return root === 'overlay' ? join(disk, 'upper/etc') : join(disk, 'etc');
}

/** Starts a VM's first process in separate namespaces: it prints `ready` and stays. Needs bash and util-linux. */
export function bootCommand(plan: BootPlan): BootCommand {
  const { folders, secrets } =
    plan.isProbe === true ? { folders: systemFolders(plan.root), secrets: [] } : visibleFolders(plan.root);
  const isRoot = process.geteuid?.() === 0;
  const user = isRoot ? [] : ['--user', '--map-root-user'];
  return {
    argv: [
      ...(['unshare', ...user, '--mount', '--pid', '--uts', '--ipc', '--fork', ...BASH, SCRIPT, 'init'] as const),
      ...(plan.command ?? []),
    ],
    environment: {
      PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin',
      REHEARSAL_VM: plan.mark,
      REHEARSAL_DISK: plan.disk,
      REHEARSAL_HOSTNAME: plan.hostname,
      REHEARSAL_CONFINEMENT: plan.root,
      REHEARSAL_IDS: isRoot ? 'all' : 'one',
      REHEARSAL_LAYERS: folders.join('\n'),
      // Users other than root cannot read them here, and cannot in the VM either.
      REHEARSAL_SECRETS: isRoot ? secrets.join('\n') : '',
      REHEARSAL_ETC: plan.root === 'overlay' ? '' : ETC_FILES.join(' '),
      REHEARSAL_TOOLS: plan.tools ?? '',
      REHEARSAL_PROBE: plan.isProbe === true ? '1' : '',
      REHEARSAL_VOLUMES: (plan.volumes ?? [])
        .map(({ source, target, isReadOnly }) => [isReadOnly ? 'ro' : 'rw', source, target].join('\t'))
        .join('\n'),
    },
  };
}

/** Command prefix that runs a command in the VM whose init is `init`, in a separate session. */
export function enterCommand(init: number): readonly [string, ...string[]] {
  // If only one id is mapped, no other can be requested.
  const ids = process.geteuid?.() === 0 ? [] : ['--preserve-credentials'];
  const namespaces = ['--user', '--mount', '--uts', '--ipc', '--pid'];
  return ['nsenter', '--target', String(init), ...namespaces, ...ids, '--', 'setsid'];
}

import type { AcceleratorType } from '../accelerators.js';
import type { JobSpec } from '../job-spec.js';
import { resolveBundle } from './bundle-section.js';
import { resolveDocker } from './docker-section.js';
import { resolveGcsfuse } from './gcsfuse-section.js';
import { resolveModules } from './module-order.js';
import { resolveFiles, resolveOwnModules, resolveScript } from './own-modules.js';
import { given } from './plain-values.js';
import { resolveConda, resolveVenv } from './python-sections.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';
import { resolveIdentities } from './ssh-section.js';

export { resolveSsh } from './ssh-section.js';

type SetUp = Pick<
  JobSpec,
  'modules' | 'identities' | 'gcsfuse' | 'docker' | 'conda' | 'venv' | 'files' | 'bundle' | 'script' | 'ownModules'
>;

/**
 * What is set up on each host. Sections that no module names are checked for form alone. `ssh` is left out where it has nothing
 * to do on the hosts: its key connects, whether the module is named or not.
 */
export function resolveSetUp(file: JobFile, report: Report): SetUp {
  const chosen = resolveModules(file, report);
  const has = <Value>(module: string, resolve: (file: JobFile, report: Report) => Value): Value | undefined =>
    chosen.includes(module) ? resolve(file, report) : undefined;
  const identities = has('ssh', resolveIdentities) ?? [];
  const sections = {
    identities: identities.length === 0 ? undefined : identities,
    gcsfuse: has('gcsfuse', resolveGcsfuse),
    docker: has('docker', resolveDocker),
    conda: has('conda', resolveConda),
    venv: has('venv', resolveVenv),
    files: has('files', () => resolveFiles(file.files, ['files'], report)),
    bundle: has('bundle', (form) => resolveBundle(form, chosen, report)),
    script: has('script', resolveScript),
    ownModules: resolveOwnModules(file, chosen, report),
  };
  const present = Object.fromEntries(Object.entries(sections).filter(([, section]) => section !== undefined));
  return { modules: chosen.filter((module) => module !== 'ssh' || identities.length > 0), ...present };
}

export function resolveCommand(
  file: JobFile,
  modules: readonly string[],
  type: AcceleratorType | undefined,
  report: Report,
): JobSpec['command'] {
  const form = given(file.command);
  if (form === undefined) return undefined;
  if (form.run && form.cmd) report.problem(['command', 'cmd'], form.cmd, 'run and cmd are both given', 'keep run');
  const run = form.run ?? form.cmd;
  if (!run && !report.wasDropped(['command', 'run']) && !report.wasDropped(['command', 'cmd'])) {
    report.missing(['command', 'run'], 'such as run: python3 train.py');
  }
  const hosts = resolveHosts(form.workers ?? 'all', type, report);
  return run && modules.includes('command') ? { run, hosts } : undefined;
}

function resolveHosts(
  workers: number | readonly number[] | 'all',
  type: AcceleratorType | undefined,
  report: Report,
): 'all' | readonly number[] {
  if (workers === 'all') return 'all';
  const path = ['command', 'workers'];
  const indexes = typeof workers === 'number' ? [workers] : workers;
  if (indexes.length === 0) report.wrong(path, workers, 'no host at all', 'leave workers out for all hosts');
  indexes.forEach((index, place) => {
    const at = typeof workers === 'number' ? path : [...path, place];
    if (type !== undefined && (index < 0 || index >= type.hosts)) {
      report.wrong(at, index, `no host of ${type.type}`, hostsHint(type));
    } else if (indexes.indexOf(index) !== place) report.wrong(at, index, 'named twice');
  });
  return indexes;
}

function hostsHint({ type, hosts }: AcceleratorType): string {
  if (hosts === 1) return `${type} has one host, with index 0`;
  return `${type} has ${hosts} hosts: 0 to ${hosts - 1}; workers is an index, not a count`;
}

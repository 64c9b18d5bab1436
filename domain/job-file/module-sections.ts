import type { AcceleratorType } from '../accelerators.js';
import type { JobSpec, ModuleName } from '../job-spec.js';
import { notBuilt } from './later-keys.js';
import { given } from './plain-values.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

const ENVIRONMENTS = ['docker', 'conda', 'venv'] as const satisfies readonly ModuleName[];
type Environment = (typeof ENVIRONMENTS)[number];
const isEnvironment = (module: ModuleName): module is Environment => ENVIRONMENTS.some((name) => name === module);

/** Modules of the design that this version does not have, and what to do until then. */
const NOT_BUILT: Partial<Record<ModuleName, string>> = {
  gcsfuse: 'copy in the command (gcloud storage cp), or mount in tpu.startup_script',
  docker: 'docker run .. in the command',
  conda: 'take venv, or set conda up in the command',
};

/**
 * The modules of a job in the order in which they run. Not among them: `ssh`, which has nothing to do on the hosts yet
 * (its key connects, whether the module is named or not).
 */
export function resolveModules(file: JobFile, report: Report): readonly ModuleName[] {
  const chosen = file.setup?.modules ?? (report.wasDropped(['setup', 'modules']) ? [] : usualModules(file, report));
  checkEnvironments(file, report);
  chosen.forEach((module, index) => {
    const path = file.setup?.modules ? ['setup', 'modules', index] : placeOf(file, module);
    if (chosen.indexOf(module) !== index) report.wrong(path, module, 'named twice');
    const instead = NOT_BUILT[module];
    if (instead !== undefined) {
      const { message, hint } = notBuilt(instead, `module ${module}`);
      report.problem(path, module, message, hint);
    } else if (given(file[module]) === undefined && !report.wasDropped([module])) {
      report.problem(path, module, `module ${module} needs a section ${module}`, SECTION_EXAMPLES[module]);
    }
  });
  warnOfUnused(file, chosen, report);
  return chosen.filter((module) => module !== 'ssh');
}

const SECTION_EXAMPLES: Partial<Record<ModuleName, string>> = {
  ssh: 'such as ssh: {private_key: ~/.ssh/id_ed25519}',
  venv: 'such as venv: {name: train, requirements_file: requirements.txt}',
  command: 'such as command: {run: python3 train.py}',
};

/** JobMan's order where `setup.modules` is not given: what has a section, and the environment that `job.env_type` names. */
function usualModules(file: JobFile, report: Report): readonly ModuleName[] {
  const has = (module: ModuleName): ModuleName[] => (given(file[module]) === undefined ? [] : [module]);
  const environments = file.job?.env_type ? [file.job.env_type] : ENVIRONMENTS.flatMap(has);
  const [first, second] = environments;
  if (first !== undefined && second !== undefined) {
    const hint = `say which with job: {env_type: ${first}} or with setup: {modules: [..]}`;
    report.problem([second], second, `sections of two environment modules, ${first} and ${second}`, hint);
  }
  return [...has('ssh'), ...has('gcsfuse'), ...environments.slice(0, 1), ...has('command')];
}

const placeOf = (file: JobFile, module: ModuleName): string[] =>
  file.job?.env_type === module ? ['job', 'env_type'] : [module];

function checkEnvironments(file: JobFile, report: Report): void {
  const modules = file.setup?.modules ?? [];
  const first = modules.find(isEnvironment);
  modules.forEach((module, index) => {
    if (!isEnvironment(module) || first === undefined || module === first) return;
    const message = `two environment modules, ${first} and ${module}`;
    report.problem(['setup', 'modules', index], module, message, 'keep one of docker, conda and venv');
  });
}

function warnOfUnused(file: JobFile, chosen: readonly ModuleName[], report: Report): void {
  if (!file.setup?.modules) return;
  const environment = file.job?.env_type;
  if (environment && !chosen.includes(environment)) {
    report.warn(['job', 'env_type'], `${environment} is not used: setup.modules does not name it`);
  }
  if (given(file.command) !== undefined && !chosen.includes('command')) {
    report.warn(['command'], 'does not run: setup.modules does not name it; the slice is held until it is cancelled');
  }
}

/** The key that connects: JobMan's first or later words for it. */
export function resolveSsh(file: JobFile, report: Report): JobSpec['ssh'] {
  const form = given(file.ssh);
  if (form === undefined) return undefined;
  const isChosen = file.setup?.modules ? file.setup.modules.includes('ssh') : true;
  if (isChosen && form.identities && form.identities.length > 0) {
    const { message, hint } = notBuilt('copy keys in tpu.startup_script');
    report.problem(['ssh', 'identities'], form.identities, message, hint);
  }
  if (isChosen && given(form.tpu_private_key) !== undefined) {
    report.warn(
      ['ssh', 'tpu_private_key'],
      'connects to the hosts; it is not copied to them yet, so they cannot ssh to each other with it',
    );
  }
  const privateKey = form.private_key ?? form.tpu_private_key;
  const publicKey = form.public_key ?? form.tpu_public_key;
  if (!privateKey) return undefined;
  return { privateKey, ...(publicKey ? { publicKey } : {}) };
}

const DEFAULT_PYTHON = 'python3';
const PYTHON = /^(\/[\w./-]+|python)?(\d+(\.\d+){0,2})?$/;

export function resolveVenv(file: JobFile, modules: readonly ModuleName[], report: Report): JobSpec['venv'] {
  const form = given(file.venv);
  if (form === undefined || !modules.includes('venv')) return undefined;
  if (form.name && form.path)
    report.problem(['venv', 'path'], form.path, 'name and path are both given', 'keep one of them');
  const name = given(form.name);
  if (name !== undefined && !/^[\w.-]+$/.test(name)) {
    report.wrong(
      ['venv', 'name'],
      name,
      'no name of a directory',
      'the environment is made at ~/NAME; write path: for another place',
    );
  }
  const path = form.path ?? (name === undefined ? undefined : `~/${name}`);
  if (path === undefined && !report.wasDropped(['venv', 'name']) && !report.wasDropped(['venv', 'path'])) {
    report.missing(['venv', 'name'], 'such as name: train, which is ~/train on the host');
  }
  const requirementsFile = given(form.requirements_file);
  return {
    path: path ?? '',
    python: resolvePython(form.python, report),
    ...(requirementsFile === undefined ? {} : { requirementsFile }),
  };
}

/** `3.10`, `"3.10"` and `python3.10` are `python3.10`; a path stays. */
function resolvePython(python: string | number | boolean | null | undefined, report: Report): string {
  if (python === null || python === undefined) return DEFAULT_PYTHON;
  const text = String(python);
  const isVersion = /^\d/.test(text);
  if (!PYTHON.test(text))
    report.wrong(['venv', 'python'], python, 'no Python', 'such as python3.11, "3.11" or /usr/bin/python3.11');
  if (python === 3.1) report.wrong(['venv', 'python'], python, 'Python 3.1', 'for 3.10 write it in quotes: "3.10"');
  return isVersion ? `python${text}` : text;
}

export function resolveCommand(
  file: JobFile,
  modules: readonly ModuleName[],
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

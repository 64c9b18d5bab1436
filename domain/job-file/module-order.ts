import { MODULE_NAMES } from '../setup-spec.js';
import type { ModuleName } from '../setup-spec.js';
import { given } from './plain-values.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

const ENVIRONMENTS = ['docker', 'conda', 'venv'] as const satisfies readonly ModuleName[];
type Environment = (typeof ENVIRONMENTS)[number];
const isEnvironment = (module: string): module is Environment => ENVIRONMENTS.some((name) => name === module);
const isBuiltIn = (module: string): module is ModuleName => MODULE_NAMES.some((name) => name === module);

/**
 * The modules of a job in the order in which they run: `setup.modules`, else JobMan's order. A bundle, which JobMan's lists do not
 * know, comes behind the environment that it may be installed into, where the list does not say its place.
 */
export function resolveModules(file: JobFile, report: Report): readonly string[] {
  const listed = file.setup?.modules ?? (report.wasDropped(['setup', 'modules']) ? [] : usualModules(file, report));
  const chosen = hasSection(file, 'bundle') && !listed.includes('bundle') ? withBundle(listed) : listed;
  checkEnvironments(file, report);
  listed.forEach((module, index) => {
    const path = file.setup?.modules ? ['setup', 'modules', index] : placeOf(file, module);
    if (listed.indexOf(module) !== index) report.wrong(path, module, 'named twice');
    checkModule(module, path, file, report);
  });
  warnOfUnused(file, chosen, report);
  return chosen;
}

/** Before the first module that may want what is in it. */
function withBundle(modules: readonly string[]): readonly string[] {
  const place = modules.findLastIndex((module) => COMES_BEFORE_BUNDLE.includes(module)) + 1;
  return modules.toSpliced(place, 0, 'bundle');
}

const COMES_BEFORE_BUNDLE: readonly string[] = ['ssh', 'gcsfuse', 'files', ...ENVIRONMENTS];

/** `false` is how a bundle is not wanted. */
const hasSection = (file: JobFile, module: ModuleName): boolean => given(file[module] || undefined) !== undefined;

function checkModule(module: string, path: readonly (string | number)[], file: JobFile, report: Report): void {
  if (!isBuiltIn(module)) {
    const own = Object.keys(file.modules ?? {});
    if (!own.includes(module) && !report.wasDropped(['modules', module]))
      report.notAllowed(path, module, [...MODULE_NAMES, ...own]);
  } else if (!hasSection(file, module) && !report.wasDropped([module])) {
    report.problem(path, module, `module ${module} needs a section ${module}`, SECTION_EXAMPLES[module]);
  }
}

const SECTION_EXAMPLES: Readonly<Record<ModuleName, string>> = {
  ssh: 'such as ssh: {private_key: ~/.ssh/id_ed25519}',
  gcsfuse: 'such as gcsfuse: {bucket_name: my-bucket, mount_path: ~/bucket}',
  docker: 'such as docker: {image: python:3.12-slim}',
  conda: 'such as conda: {name: train, config_file: environment.yml}',
  venv: 'such as venv: {name: train, requirements_file: requirements.txt}',
  files: 'such as files: [{from: configs, to: ~/configs}]',
  bundle: 'such as bundle: . , the folder of the job file',
  script: 'such as script: {run: sudo sysctl -w vm.swappiness=1}',
  command: 'such as command: {run: python3 train.py}',
};

/**
 * JobMan's order where `setup.modules` is not given: what has a section, and the environment that `job.env_type` names. Files
 * come before what may want them.
 */
function usualModules(file: JobFile, report: Report): readonly string[] {
  const has = (module: ModuleName): ModuleName[] => (hasSection(file, module) ? [module] : []);
  const environments = file.job?.env_type ? [file.job.env_type] : ENVIRONMENTS.flatMap(has);
  const [first, second] = environments;
  if (first !== undefined && second !== undefined) {
    const hint = `say which with job: {env_type: ${first}} or with setup: {modules: [..]}`;
    report.problem([second], second, `sections of two environment modules, ${first} and ${second}`, hint);
  }
  const before = [...has('ssh'), ...has('gcsfuse'), ...has('files')];
  return [
    ...before,
    ...environments.slice(0, 1),
    ...has('bundle'),
    ...has('script'),
    // One under the name of a module of jobctl's is a problem of its own.
    ...Object.keys(file.modules ?? {}).filter((name) => !isBuiltIn(name)),
    ...has('command'),
  ];
}

const placeOf = (file: JobFile, module: string): string[] =>
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

function warnOfUnused(file: JobFile, chosen: readonly string[], report: Report): void {
  if (!file.setup?.modules) return;
  const environment = file.job?.env_type;
  if (environment && !chosen.includes(environment)) {
    report.warn(['job', 'env_type'], `${environment} is not used: setup.modules does not name it`);
  }
  if (given(file.command) !== undefined && !chosen.includes('command')) {
    report.warn(['command'], 'does not run: setup.modules does not name it; the slice is held until it is cancelled');
  }
}

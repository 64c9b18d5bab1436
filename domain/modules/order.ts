import { given } from '../job-file/fields.js';
import type { Report } from '../job-file/report.js';
import type { JobFile } from '../job-file/sections.js';
import { MODULE_KINDS, type ModuleKind } from './module.js';
import { ALL_MODULES, type AnyModule, ENVIRONMENTS, MODULE_NAMES, moduleNamed, type ModuleName } from './registry.js';

/**
 * The modules of a job in the order in which they run: `setup.modules`, else `usualModules`. A bundle need not be listed: it then
 * runs after the inputs and the environment, before the first module that may use it.
 */
export function resolveModules(file: JobFile, report: Report): readonly string[] {
  const listed = file.setup?.modules ?? (report.wasDropped(['setup', 'modules']) ? [] : usualModules(file, report));
  const chosen = withCode(listed, file);
  checkEnvironments(file, report);
  listed.forEach((module, index) => {
    const path = file.setup?.modules ? ['setup', 'modules', index] : placeOf(file, module);
    if (listed.indexOf(module) !== index) report.wrong(path, module, 'named twice');
    checkModule(module, path, file, report);
  });
  warnOfUnused(file, chosen, report);
  return chosen;
}

/** Adds code that has a section but is not listed: JobMan's lists have no word for it. */
function withCode(listed: readonly string[], file: JobFile): readonly string[] {
  const unlisted = ofKind('code', file).filter(({ name }) => !listed.includes(name));
  const isEarlier = (name: string): boolean => ['inputs', 'environment'].includes(moduleNamed(name)?.kind ?? '');
  return listed.toSpliced(listed.findLastIndex(isEarlier) + 1, 0, ...unlisted.map(({ name }) => name));
}

const ofKind = (kind: ModuleKind, file: JobFile): readonly AnyModule[] =>
  ALL_MODULES.filter((module) => module.kind === kind && hasSection(file, module.name));

/** `false` means that the module is not wanted. */
const hasSection = (file: JobFile, module: ModuleName): boolean => given(file[module] || undefined) !== undefined;

const isBuiltIn = (name: string): name is ModuleName => MODULE_NAMES.some((known) => known === name);

function checkModule(module: string, path: readonly (string | number)[], file: JobFile, report: Report): void {
  if (!isBuiltIn(module)) {
    const own = Object.keys(file.modules ?? {});
    if (!own.includes(module) && !report.wasDropped(['modules', module]))
      report.notAllowed(path, module, [...MODULE_NAMES, ...own]);
  } else if (!hasSection(file, module) && !report.wasDropped([module])) {
    report.problem(path, module, `module ${module} needs a section ${module}`, exampleOf(module));
  }
}

const exampleOf = (module: ModuleName): string =>
  moduleNamed(module)?.example ?? 'such as command: {run: python3 train.py}';

/**
 * Without `setup.modules`: every module that has a section, kind by kind. If several environments have one, the one that
 * `job.env_type` names. Then the file's own modules, then the command. This is JobMan's order.
 */
function usualModules(file: JobFile, report: Report): readonly string[] {
  const named = file.job?.env_type;
  if (named && !hasSection(file, named) && !report.wasDropped([named]))
    report.warn(['job', 'env_type'], `${named} has no section ${named}, so the command runs in no environment`);
  const environments = named
    ? [named].filter((name) => hasSection(file, name) || report.wasDropped([name]))
    : ENVIRONMENTS.filter(({ name }) => hasSection(file, name)).map(({ name }) => name);
  const [first, second] = environments;
  if (first !== undefined && second !== undefined) {
    const hint = `say which with job: {env_type: ${first}} or with setup: {modules: [..]}`;
    report.problem([second], second, `sections of two environment modules, ${first} and ${second}`, hint);
  }
  return [
    ...MODULE_KINDS.flatMap((kind) =>
      kind === 'environment' ? environments.slice(0, 1) : ofKind(kind, file).map(({ name }) => name),
    ),
    // An own module with the name of a built-in one is reported elsewhere.
    ...Object.keys(file.modules ?? {}).filter((name) => !isBuiltIn(name)),
    ...(hasSection(file, 'command') ? ['command'] : []),
  ];
}

const placeOf = (file: JobFile, module: string): string[] =>
  file.job?.env_type === module ? ['job', 'env_type'] : [module];

function checkEnvironments(file: JobFile, report: Report): void {
  const modules = file.setup?.modules ?? [];
  const isEnvironment = (name: string): boolean => ENVIRONMENTS.some((environment) => environment.name === name);
  const first = modules.find(isEnvironment);
  modules.forEach((module, index) => {
    if (!isEnvironment(module) || first === undefined || module === first) return;
    const message = `two environment modules, ${first} and ${module}`;
    report.problem(
      ['setup', 'modules', index],
      module,
      message,
      `keep one of ${wordsOf(ENVIRONMENTS.map(({ name }) => name))}`,
    );
  });
}

/** `a, b and c` */
const wordsOf = (names: readonly string[]): string => [names.slice(0, -1).join(', '), ...names.slice(-1)].join(' and ');

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

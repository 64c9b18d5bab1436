import type { Report } from '../job-file/report.js';
import type { JobFile } from '../job-file/sections.js';
import { type LocalFile, namesOf } from '../local-files.js';
import { WrongInput } from '../errors.js';
import { given } from '../job-file/fields.js';
import {
  type ModulePlan,
  type PlanSources,
  type ResolveContext,
  type ShellEnvironment,
  MODULE_KINDS,
  type ModuleKind,
} from './module.js';
import {
  ownLocalFiles,
  type OwnModules,
  ownPlan,
  resolveOwnModules,
  ALL_MODULES,
  type AnyModule,
  ENVIRONMENTS,
  environmentOf,
  MODULE_NAMES,
  moduleNamed,
  type ModuleSpecs,
  specOf,
  type ModuleName,
} from './registry.js';

/** The fields of `JobSpec` that describe the set-up of each host. */
export interface SetUpSpec extends ModuleSpecs {
  /** jobctl's modules and the job's own, in the order in which they run. */
  readonly modules: readonly string[];
  readonly ownModules?: OwnModules;
}

/**
 * The set-up of a job file. Sections that no module names are checked for form only. A module without work on hosts is left out
 * of `modules`.
 */
export function resolveSetUp(file: JobFile, report: Report): SetUpSpec {
  const modules = resolveModules(file, report);
  const context = { report, modules, environments: environmentsAmong(modules) };
  const idle: string[] = [];
  const specs = ALL_MODULES.filter(({ name }) => modules.includes(name)).flatMap((module) => {
    const spec = resolveSection(module, file, context);
    if (spec === undefined) idle.push(module.name);
    return spec === undefined ? [] : [[module.specKey ?? module.name, spec] as const];
  });
  const ownModules = resolveOwnModules(file.modules, modules, MODULE_NAMES, report);
  return {
    modules: modules.filter((name) => !idle.includes(name)),
    ...(Object.fromEntries(specs) as ModuleSpecs),
    ...(ownModules === undefined ? {} : { ownModules }),
  };
}

function environmentsAmong(modules: readonly string[]): ResolveContext['environments'] {
  return modules.flatMap((name) => {
    const kind = ENVIRONMENTS.find((module) => module.name === name)?.environment?.kind;
    return kind === undefined ? [] : [{ name, kind }];
  });
}

function resolveSection(module: AnyModule, file: JobFile, context: ResolveContext): unknown {
  const section = file[module.name];
  return section === null || section === undefined ? undefined : module.resolve(section, context);
}

// Files --------------------------------------------------------------------------------------------------------------

/** The submitter's files that a job needs, except keys, with their places in the job file. */
export function localFilesOf(job: Omit<SetUpSpec, 'modules'>): readonly LocalFile[] {
  const files = ALL_MODULES.flatMap((module) => {
    const spec = specOf(module, job);
    const local = spec === undefined ? [] : (module.localFiles?.(spec) ?? []);
    return local.map((file) => ({ ...file, at: [module.name, ...file.at] }));
  });
  return [...files, ...ownLocalFiles(job.ownModules ?? {})];
}

/** The files whose content is not among a job's files. @param files names -> anything */
export function filesNotGiven(
  job: Omit<SetUpSpec, 'modules'>,
  files: Readonly<Record<string, unknown>>,
): readonly LocalFile[] {
  return localFilesOf(job).filter((local) => !namesOf(local).some((name) => name in files));
}

// Plans --------------------------------------------------------------------------------------------------------------

/**
 * The set-up of one host, in the job's order.
 * @throws WrongInput for an unknown module, or one whose section, file or key is missing
 */
export function planSetUp(job: SetUpSpec, given: Omit<PlanSources, 'environment'>): ModulePlan[] {
  const environment = shellEnvironment(job, given);
  const sources: PlanSources = environment === undefined ? given : { ...given, environment };
  return job.modules.filter((name) => name !== 'command').map((name) => planModule(name, job, sources));
}

function planModule(name: string, job: SetUpSpec, sources: PlanSources): ModulePlan {
  const module = moduleNamed(name);
  if (module === undefined) {
    const own = job.ownModules?.[name];
    if (own === undefined) throw new WrongInput(`setup.modules: '${name}' is no module`);
    return ownPlan(name, own, sources);
  }
  const spec = specOf(module, job);
  if (spec !== undefined) return module.plan(spec, sources);
  throw new WrongInput(`setup.modules: '${name}' is named, but the job has no section '${name}'`);
}

function shellEnvironment(job: SetUpSpec, sources: PlanSources): ShellEnvironment | undefined {
  const environment = environmentOf(job);
  if (environment?.kind !== 'shell') return undefined;
  const { module, enter, folder } = environment;
  return { enter, folder, fingerprint: planModule(module.name, job, sources).fingerprint };
}

/**
 * The modules of a job in the order in which they run: `setup.modules`, else `usualModules`. A bundle need not be listed: it then
 * runs after the inputs and the environment, before the first module that may use it.
 */
function resolveModules(file: JobFile, report: Report): readonly string[] {
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

/** Adds modules of kind `code` that have a section but are not listed: JobMan's lists have no word for them. */
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
 * Modules of a file without `setup.modules`: every module that has a section, kind by kind. If several environments have one,
 * only the one that `job.env_type` names. Then the file's own modules, then the command. This is JobMan's order.
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

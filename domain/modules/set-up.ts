import type { Report } from '../job-file/report.js';
import type { JobFile } from '../job-file/sections.js';
import { type LocalFile, namesOf } from '../local-files.js';
import type { ModulePlan, PlanSources, ResolveContext, ShellEnvironment } from './module.js';
import { resolveModules } from './order.js';
import { ownLocalFiles, type OwnModules, ownPlan, resolveOwnModules } from './own-modules.js';
import {
  ALL_MODULES,
  type AnyModule,
  ENVIRONMENTS,
  environmentOf,
  MODULE_NAMES,
  moduleNamed,
  type ModuleSpecs,
  specOf,
} from './registry.js';
import { WrongInput } from '../wrong-input.js';

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

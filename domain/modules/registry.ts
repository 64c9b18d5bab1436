import { z } from 'zod';
import { section, text } from '../job-file/fields.js';
import type { Report } from '../job-file/report.js';
import type { LocalFile } from '../local-files.js';
import { bundle } from './bundle.js';
import { conda } from './conda.js';
import { docker } from './docker.js';
import { files, copiedFiles, copySteps, type FileCopy, fileList, filesPlan, resolveFiles } from './files.js';
import { gcsfuse } from './gcsfuse.js';
import {
  type RunContainer,
  type SetUpModule,
  fingerprintOf,
  type ModulePlan,
  type PlanSources,
  setUpModule,
} from './module.js';
import { PIPEFAIL } from './host-scripts.js';
import { ray } from './ray.js';
import { ssh } from './ssh.js';
import { venv } from './venv.js';

const SCRIPT_FORMAT = 1;

/** A user's script: runs once on each host for the same text, and again if its check fails. */
const script = setUpModule({
  name: 'script',
  kind: 'custom',
  form: () =>
    section({
      run: text().nullish().describe('Runs under bash -l on every host, once for the same text.'),
      check: text().nullish().describe('Ends with 0 where the work of the script is there.'),
    }),
  example: 'such as script: {run: sudo sysctl -w vm.swappiness=1}',
  resolve: ({ run, check }, { report }) => {
    if (!run) report.missing(['script', 'run'], 'such as run: sudo sysctl -w vm.swappiness=1');
    return { run: run ?? '', ...(check ? { check } : {}) };
  },
  plan: ({ run, check = 'true' }, sources) => ({
    name: 'script',
    fingerprint: fingerprintOf(sources, SCRIPT_FORMAT, run, check),
    check,
    steps: [{ name: 'run', script: `${PIPEFAIL}${run}` }],
  }),
});

/**
 * The set-up modules of jobctl. A new module is a file like venv.ts, and its name here (docs/modules.md). Modules of one kind
 * run in this order if the job file gives none.
 */
const MODULES = [ssh, gcsfuse, docker, conda, venv, files, bundle, script, ray] as const;

type Module = (typeof MODULES)[number];
type SpecKeyOf<M> = M extends SetUpModule<string, z.ZodType, infer _Spec, infer Key> ? Key : never;
type SpecOf<M> = M extends SetUpModule<string, z.ZodType, infer Spec, string> ? Spec : never;

/** The fields of `JobSpec` that hold the specs of modules. Only modules that the job has are in it. */
export type ModuleSpecs = { readonly [M in Module as SpecKeyOf<M>]?: SpecOf<M> };

/** `command` is not a set-up module: it has a section and a place in the order, and nothing to set up. */
export type ModuleName = Module['name'] | 'command';

/** A descriptor whose section and spec the caller does not know. The caller may pass it only specs that it resolved itself. */
export type AnyModule = SetUpModule<ModuleName, z.ZodType, unknown, string>;

export const ALL_MODULES: readonly AnyModule[] = MODULES;
export const MODULE_NAMES: readonly ModuleName[] = [...MODULES.map(({ name }) => name), 'command'];

export const moduleNamed = (name: string): AnyModule | undefined => ALL_MODULES.find((module) => module.name === name);

/** The modules of which a job has at most one. */
export const ENVIRONMENTS = ALL_MODULES.filter(({ environment }) => environment !== undefined);
export const ENVIRONMENT_NAMES = ENVIRONMENTS.map(({ name }) => name) as [ModuleName, ...ModuleName[]];

/** @returns undefined if the job does not have the module */
export function specOf({ name, specKey = name }: AnyModule, specs: ModuleSpecs): unknown {
  return (specs as Readonly<Record<string, unknown>>)[specKey];
}

type Optional<Form extends z.ZodType> = z.ZodOptional<z.ZodNullable<Form>>;
type ModuleForms = { [M in Module as M['name']]: Optional<ReturnType<M['form']>> };

/** The forms of the modules' sections, and of `modules`, the job file's own ones. */
export function moduleForms(): ModuleForms & ReturnType<typeof ownModuleForms> {
  const forms = ALL_MODULES.map(({ name, form, description }) => {
    const optional = form().nullish();
    return [name, description === undefined ? optional : optional.describe(description)] as const;
  });
  return { ...(Object.fromEntries(forms) as unknown as ModuleForms), ...ownModuleForms() };
}

/** The environment of the job's command, by kind. */
type JobEnvironment =
  | { readonly kind: 'shell'; readonly module: AnyModule; readonly enter: string; readonly folder: string }
  | { readonly kind: 'container'; readonly module: AnyModule; readonly container: RunContainer };

/** @returns undefined if the command runs in the login user's shell as it is */
export function environmentOf(job: ModuleSpecs & { readonly modules: readonly string[] }): JobEnvironment | undefined {
  for (const module of ENVIRONMENTS) {
    const spec = job.modules.includes(module.name) ? specOf(module, job) : undefined;
    const { environment } = module;
    if (spec === undefined || environment === undefined) continue;
    if (environment.kind === 'container') return { kind: 'container', module, container: environment.container(spec) };
    return { kind: 'shell', module, enter: environment.enter(spec), folder: environment.folder(spec) };
  }
  return undefined;
}

/** A module that the job file itself describes, in its section `modules`. */
export interface OwnModule {
  readonly check?: string;
  readonly setup: readonly { readonly name: string; readonly run: string }[];
  readonly files: readonly FileCopy[];
}

export type OwnModules = Readonly<Record<string, OwnModule>>;

const ownModule = () =>
  section({
    check: text().nullish(),
    setup: z
      .array(section({ name: text().nullish(), run: text() }), { error: 'a list of steps, each {name, run}' })
      .nullish(),
    files: fileList().nullish(),
  });
type OwnModuleSection = z.infer<ReturnType<typeof ownModule>>;

const ownModuleForms = () => ({
  modules: z
    .record(z.string(), ownModule(), { error: 'a section of NAME: {check, setup, files}' })
    .nullish()
    .describe("Modules of the file's own, for setup.modules."),
});

/** Form of the names: files on hosts and log streams get them too. */
const OWN_NAME = /^[a-z][a-z0-9_-]{0,39}$/;

/**
 * The own modules among the job's modules.
 * @param builtIn names that an own module may not have
 */
export function resolveOwnModules(
  sections: Readonly<Record<string, OwnModuleSection>> | null | undefined,
  chosen: readonly string[],
  builtIn: readonly string[],
  report: Report,
): OwnModules | undefined {
  for (const name of Object.keys(sections ?? {})) {
    const path = ['modules', name];
    if (builtIn.includes(name))
      report.problem(path, name, `${name} is a module of jobctl's`, 'give yours another name');
    else if (!OWN_NAME.test(name))
      report.wrong(path, name, 'no name of a module', 'small letters, digits, - and _; a letter first; 40 at most');
  }
  const named = Object.entries(sections ?? {}).filter(([name]) => chosen.includes(name));
  if (named.length === 0) return undefined;
  return Object.fromEntries(named.map(([name, section]) => [name, resolveOwn(name, section, report)]));
}

function resolveOwn(name: string, section: OwnModuleSection, report: Report): OwnModule {
  const steps = section.setup ?? [];
  if (steps.length === 0) report.missing(['modules', name, 'setup'], 'such as setup: [{name: install, run: ..}]');
  return {
    ...(section.check ? { check: section.check } : {}),
    setup: steps.map((step, index) => ({ name: step.name ?? `step ${index + 1}`, run: step.run })),
    files: resolveFiles(section.files, ['modules', name, 'files'], report),
  };
}

/** Places start at the top of the job file. */
export function ownLocalFiles(own: OwnModules): readonly LocalFile[] {
  return Object.entries(own).flatMap(([name, { files }]) =>
    copiedFiles(files).map((file) => ({ ...file, at: ['modules', name, 'files', ...file.at] })),
  );
}

const FORMAT = 1;

/** Copies the module's files, then runs its steps. Its check follows the check of its files. */
export function ownPlan(name: string, own: OwnModule, sources: PlanSources): ModulePlan {
  const { check = 'true', setup, files } = own;
  const copied = filesPlan(name, files, sources);
  return {
    name,
    fingerprint: fingerprintOf(sources, FORMAT, check, setup, copied.fingerprint),
    check: files.length === 0 ? check : `( ${copied.check.trimEnd()} ) || exit 1\n${check}`,
    steps: [
      ...copySteps(name, files, sources),
      ...setup.map((step) => ({ name: step.name, script: `${PIPEFAIL}${step.run}` })),
    ],
  };
}

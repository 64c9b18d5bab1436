import type { z } from 'zod';
import { bundle } from './bundle.js';
import { conda } from './conda.js';
import { docker } from './docker.js';
import { files } from './files.js';
import { gcsfuse } from './gcsfuse.js';
import type { RunContainer, SetUpModule } from './module.js';
import { ownModuleForms } from './own-modules.js';
import { ray } from './ray.js';
import { script } from './script.js';
import { ssh } from './ssh.js';
import { venv } from './venv.js';

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

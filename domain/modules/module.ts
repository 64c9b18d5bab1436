import type { z } from 'zod';
import type { FileSource, LocalFile } from '../local-files.js';
import type { Report } from '../job-file/report.js';
import { WrongInput } from '../errors.js';

/**
 * Kinds of modules, in the order in which they run if the job file gives none: `inputs` (keys, mounts and files that later
 * modules may read), the one `environment` of the command, `code` (which may be installed into that environment), `custom` work.
 */
export const MODULE_KINDS = ['inputs', 'environment', 'code', 'custom'] as const;
export type ModuleKind = (typeof MODULE_KINDS)[number];

/**
 * A set-up module of jobctl: everything that jobctl knows about one section of the job file. Pure, and workflows too run the
 * part that reads the job file. docs/modules.md shows how to add a module, docs/adr/0032 says why it is one descriptor.
 * @typeParam Section the section as the job file has it
 * @typeParam Spec the section's result; plain JSON, kept in `JobSpec` under `specKey`
 */
export type SetUpModule<
  Name extends string,
  Form extends z.ZodType,
  Spec,
  SpecKey extends string = Name,
> = Place<Spec> & {
  /** Name in `setup.modules`, and key of the section in the job file. */
  readonly name: Name;
  /** Field of `JobSpec`. Absent: `name`. */
  readonly specKey?: SpecKey;
  /** Form of the section. A function, because no module that workflows share may export a schema (docs/adr/0012). */
  form(): Form;
  /** Purpose of the section, for the JSON Schema. */
  readonly description?: string;
  /** The reason why hosts that are pods cannot have the module, and the alternative. Absent: they can. */
  readonly notInPods?: { readonly message: string; readonly hint: string };
  /** Shown to a user who names the module without its section: `such as NAME: {..}`. */
  readonly example: string;
  /** The key that a plain text stands for: `dir` if `NAME: TEXT` is short for `NAME: {dir: TEXT}`. */
  readonly shortFor?: string;
  /** Keys that keep their text although YAML reads it as a number: 3.10 is not 3.1. */
  readonly keptAsWritten?: readonly string[];
  /**
   * Checks the section and applies its defaults. Reports every problem; the result is used only if there are no problems.
   * @returns undefined if there is nothing to set up; the module is then left out of the job
   */
  resolve(section: z.output<Form>, context: ResolveContext): Spec | undefined;
  /** The submitter's files that the module needs, uploaded by content at submit. `at` is the place inside the section. */
  localFiles?(spec: Spec): readonly LocalFile[];
  /** @throws WrongInput if the content of a file or key was not given */
  plan(spec: Spec, sources: PlanSources): ModulePlan;
};

/** The module's place in the order, and for an environment: how the command enters it. */
type Place<Spec> =
  | { readonly kind: 'environment'; readonly environment: Environment<Spec> }
  | { readonly kind: Exclude<ModuleKind, 'environment'>; readonly environment?: never };

/** The command's environment: one that its shell enters, or a container. */
export type Environment<Spec> =
  | {
      readonly kind: 'shell';
      /** The shell line that enters it. */
      enter(spec: Spec): string;
      /** The environment's folder, as a word of the shell. */
      folder(spec: Spec): string;
    }
  | { readonly kind: 'container'; container(spec: Spec): RunContainer };

/** The container of the command. */
export interface RunContainer {
  /** Image by tag or by digest. */
  readonly image: string;
  /** Further words of `docker run`. jobctl's own flags for name, removal, detaching and terminal override them. */
  readonly flags: readonly string[];
  /** `PATH` (the same path inside) or `SOURCE:TARGET[:OPTIONS]`; `~` is the login user's home on the host. */
  readonly mounts: readonly string[];
  /** Path in the container. */
  readonly workdir?: string;
  /** Variables that override the job's own `env`. */
  readonly env: Readonly<Record<string, string>>;
}

/** Inputs of `resolve` beside its own section. */
export interface ResolveContext {
  readonly report: Report;
  /** Names of the job's modules in the order in which they run. */
  readonly modules: readonly string[];
  /** Those of `modules` that are environments, in the same order. More than one is a problem already reported. */
  readonly environments: readonly { readonly name: string; readonly kind: 'shell' | 'container' }[];
}

/** Returns the descriptor unchanged. TypeScript infers its type. */
export function setUpModule<
  const Name extends string,
  Form extends z.ZodType,
  Spec,
  const SpecKey extends string = Name,
>(module: SetUpModule<Name, Form, Spec, SpecKey>): SetUpModule<Name, Form, Spec, SpecKey> {
  return module;
}

// Plans --------------------------------------------------------------------------------------------------------------

/** The work of one module on a host. All scripts run under `bash -l`. */
export interface ModulePlan {
  readonly name: string;
  /** Hash of everything that the module depends on. Kept on the host after the last step: with another hash, all steps repeat. */
  readonly fingerprint: string;
  /** Exits with 0, within two minutes, if the module's work is still in place. Runs only if the fingerprint matches. */
  readonly check: string;
  readonly steps: readonly ModuleStep[];
}

export interface ModuleStep {
  readonly name: string;
  readonly script: string;
  /** Files that are put on the host before the script runs. */
  readonly files?: readonly ModuleFile[];
}

export interface ModuleFile {
  /** Relative to the login user's home. */
  readonly path: string;
  /** A source is read only if a host needs it. The host itself reads a large `StoredSource` if it can (cloud/hosts/port.ts). */
  readonly content: string | Buffer | FileSource;
  /** Permission bits. */
  readonly mode: number;
}

/** Contents of the submitter's files, by their names among the job's files (local-files.ts). */
export type ModuleFiles = ReadonlyMap<string, Buffer | FileSource>;

export interface KeyPair {
  readonly privateKey: string;
  /** OpenSSH line. */
  readonly publicKey: string;
}

/** Inputs of plans, beside the job's spec. */
export interface PlanSources {
  readonly files: ModuleFiles;
  /** Keys of the job's identities, in their order. */
  readonly keys: readonly KeyPair[];
  /** SHA-256 in lower case hex. Given by the caller, because pure code has no crypto module (docs/adr/0032). */
  readonly sha256: (content: string | Buffer) => string;
  /** The job's environment, if a shell enters it. */
  readonly environment?: ShellEnvironment;
}

/** An environment that a shell enters, for modules that install into it. */
export interface ShellEnvironment {
  /** The shell line that enters it. */
  readonly enter: string;
  /** The environment's folder, as a word of the shell. A mark in it disappears when the environment is made anew. */
  readonly folder: string;
  /** Fingerprint of the plan that makes the environment. */
  readonly fingerprint: string;
}

/** Hash of all that a module depends on. The order of the values counts. */
export function fingerprintOf({ sha256 }: Pick<PlanSources, 'sha256'>, ...values: readonly unknown[]): string {
  return sha256(JSON.stringify(values));
}

/** A file of the submitter with the SHA-256 of its content. */
export interface SubmittedFile {
  readonly content: Buffer | FileSource;
  readonly sha256: string;
}

/**
 * @param what the file's name in the message: `venv: the content of requirements_file 'x'`
 * @throws WrongInput if the file's content was not given
 */
export function submittedFile(sources: PlanSources, name: string, what: string): SubmittedFile {
  const file = findSubmittedFile(sources, name);
  if (file === undefined) throw new WrongInput(`${what} was not given`);
  return file;
}

export function findSubmittedFile({ files, sha256 }: PlanSources, name: string): SubmittedFile | undefined {
  const content = files.get(name);
  return content && { content, sha256: 'sha256' in content ? content.sha256 : sha256(content) };
}

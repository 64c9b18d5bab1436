import { z } from 'zod';
import { section, text } from '../job-file/fields.js';
import type { Report } from '../job-file/report.js';
import type { LocalFile } from '../local-files.js';
import { copiedFiles, copySteps, type FileCopy, fileList, filesPlan, resolveFiles } from './files.js';
import { PIPEFAIL } from './host-scripts.js';
import { fingerprintOf, type ModulePlan, type PlanSources } from './module.js';

/** A module that the job file itself describes, in its section `modules`. */
export interface OwnModule {
  readonly check?: string;
  readonly setup: readonly { readonly name: string; readonly run: string }[];
  readonly files: readonly FileCopy[];
}

/** Own modules by name. */
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

export const ownModuleForms = () => ({
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

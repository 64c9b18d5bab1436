import type { JobSpec } from '../job-spec.js';
import type { Path } from '../problem.js';
import { MODULE_NAMES } from '../setup-spec.js';
import type { FileCopy, OwnModule } from '../setup-spec.js';
import { given } from './plain-values.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

type FileForms = NonNullable<JobFile['files']>;

/** Files and folders of the submitter's, in the file's order. Without `to` they land in the home folder under their names. */
export function resolveFiles(forms: FileForms | null | undefined, path: Path, report: Report): readonly FileCopy[] {
  const places = new Set<string>();
  return (forms ?? []).map((form, index) => {
    const from = typeof form === 'string' ? form : form.from;
    const to = (typeof form === 'string' ? undefined : given(form.to)) ?? `~/${baseOf(from)}`;
    const at = typeof form === 'string' ? [...path, index] : [...path, index, form.to ? 'to' : 'from'];
    if (/(^|\/)\.\.(\/|$)/.test(to) || /[\n\0]/.test(to) || /^~?\/?$/.test(to) || /^~[^/]/.test(to)) {
      report.wrong(at, to, 'no place on a host', 'an absolute path, or ~/..');
    } else if (places.has(to)) report.wrong(at, to, 'the place of two files', 'each goes to a place of its own');
    places.add(to);
    return { from, to };
  });
}

const baseOf = (path: string): string => path.replace(/\/+$/, '').replace(/^.*\//, '');

export function resolveScript(file: JobFile, report: Report): JobSpec['script'] {
  const form = given(file.script);
  if (form === undefined) return undefined;
  if (!form.run) report.missing(['script', 'run'], 'such as run: sudo sysctl -w vm.swappiness=1');
  return { run: form.run ?? '', ...(form.check ? { check: form.check } : {}) };
}

/** Names of files and log streams are made of it. */
const OWN_NAME = /^[a-z][a-z0-9_-]{0,39}$/;

/** The modules of the section `modules` that `setup.modules` names. */
export function resolveOwnModules(file: JobFile, chosen: readonly string[], report: Report): JobSpec['ownModules'] {
  for (const name of Object.keys(file.modules ?? {})) {
    const path = ['modules', name];
    if (MODULE_NAMES.some((known) => known === name))
      report.problem(path, name, `${name} is a module of jobctl's`, 'give yours another name');
    else if (!OWN_NAME.test(name))
      report.wrong(path, name, 'no name of a module', 'small letters, digits, - and _; a letter first; 40 at most');
  }
  const named = Object.entries(file.modules ?? {}).filter(([name]) => chosen.includes(name));
  if (named.length === 0) return undefined;
  return Object.fromEntries(named.map(([name, form]) => [name, resolveOwn(name, form, report)]));
}

function resolveOwn(name: string, form: NonNullable<JobFile['modules']>[string], report: Report): OwnModule {
  const steps = form.setup ?? [];
  if (steps.length === 0) report.missing(['modules', name, 'setup'], 'such as setup: [{name: install, run: ..}]');
  return {
    ...(form.check ? { check: form.check } : {}),
    setup: steps.map((step, index) => ({ name: step.name ?? `step ${index + 1}`, run: step.run })),
    files: resolveFiles(form.files, ['modules', name, 'files'], report),
  };
}

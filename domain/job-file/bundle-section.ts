import type { JobSpec } from '../job-spec.js';
import type { BundleSpec } from '../setup-spec.js';
import { given } from './plain-values.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

type BundleSection = Exclude<NonNullable<JobFile['bundle']>, string | false>;

/** `bundle: DIR` is short for `bundle: {dir: DIR}`; undefined where there is none. */
export function bundleSection({ bundle }: Pick<JobFile, 'bundle'>): BundleSection | undefined {
  if (bundle === undefined || bundle === null || bundle === false) return undefined;
  return typeof bundle === 'string' ? { dir: bundle } : bundle;
}

export function resolveBundle(file: JobFile, modules: readonly string[], report: Report): JobSpec['bundle'] {
  const form = bundleSection(file);
  if (form === undefined) return undefined;
  const dir = given(form.dir);
  if (dir === undefined) report.missing(['bundle', 'dir'], 'such as dir: . , the folder of the job file');
  const install = given(form.install);
  if (install !== undefined && modules.includes('docker')) {
    const message = 'the command runs in an image, and what is installed on the host is not in it';
    report.problem(['bundle', 'install'], install, message, 'put it before the command, or into the image');
  }
  const environment = modules.find((module) => module === 'venv' || module === 'conda');
  if (install !== undefined && environment !== undefined && modules.indexOf('bundle') < modules.indexOf(environment)) {
    const message = `bundle stands before ${environment} in setup.modules, and is installed into it`;
    report.problem(
      ['bundle', 'install'],
      install,
      message,
      `put bundle behind ${environment}, or leave it out of the list`,
    );
  }
  const exclude = given(form.exclude);
  const spec: BundleSpec = {
    dir: dir ?? '',
    ...(exclude === undefined ? {} : { exclude }),
    ...(form.gitignore === false ? { withIgnored: true } : {}),
    ...(install === undefined ? {} : { install }),
  };
  return spec;
}

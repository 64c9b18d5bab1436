import { showValue } from '../../../domain/problem.js';
import { imageOf } from '../../../domain/build/build.js';
import type { GitLeave } from '../../job/building/sources.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { localPlaceOf, readJobFile } from '../../job/job-file.js';
import type { OutputFlag } from '../../terminal/options.js';
import { agreeToOutside } from '../../job/local-files.js';
import { printOut } from '../../terminal/print.js';
import { printJson } from '../../jobs/submitting/after-submit.js';

export interface BuildFlags extends OutputFlag, GitLeave {
  readonly set?: readonly string[];
  readonly allowOutside?: true;
}

/** Builds and pushes a job file's image like `submit --build local`, and prints the reference to pull. Submits nothing. */
export async function build(file: string, flags: BuildFlags): Promise<number> {
  const { set = [], output } = flags;
  const job = await readJobFile(file, { set, isDry: true });
  const { raw, build: section } = job;
  if (section === undefined)
    throw new CliError(
      ExitCode.Usage,
      `${file}: there is no section build, so there is nothing to build`,
      'build: { image: ghcr.io/team/train } builds the folder of the file, and pushes the image there',
    );
  if (section.digest !== undefined)
    throw new CliError(
      ExitCode.Usage,
      `${file}: build.digest: ${showValue(section.digest)}: the image is built already`,
      'leave build.digest out to build it again',
    );
  await agreeToOutside(job.outside, flags);
  const { place } = localPlaceOf(file, section.context, raw);
  const { builtImage } = await import('../../job/building/build-image.js');
  const made = await builtImage(section, place, flags);
  const image = imageOf({ ...section, digest: made.digest });
  if (output === 'json') printJson({ image, pushed: `${section.image}@${made.digest}`, ...made });
  else printOut(`${image}\n`);
  return ExitCode.Done;
}

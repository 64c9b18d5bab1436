import type { Overlap } from '../../../domain/schedule/schedule.js';
import { formatProblems } from '../../../domain/problem.js';
import { timesProblems } from '../../../client/schedule-wish.js';
import { agreeToOutside } from '../../job/local-files.js';
import { BY_FLAGS, tellWarnings } from '../../job/job-file.js';
import { removeScratchFolder } from '../../job/packing/pack-tree.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';
import { shortPlace } from '../../place/context.js';
import { configured, submissionOf, withCheckedJob } from '../../jobs/submitting/checked-job.js';
import { type JobFlags, readOneJob } from '../../jobs/submitting/read-job.js';
import { timeInZone } from './schedule.js';

export interface ScheduleCreateFlags extends JobFlags {
  readonly cron: string;
  readonly timeZone: string;
  readonly overlap: Overlap;
}

/** Flags of the keys of a schedule. */
const FLAGS: Readonly<Record<string, string>> = { cron: '--cron', timeZone: '--time-zone', overlap: '--overlap' };

/** `schedule create NAME [FILE] --cron CRON [-- CMD..]` */
export async function scheduleCreate(
  name: string,
  file: string | undefined,
  flags: ScheduleCreateFlags,
  command: readonly string[] | undefined,
): Promise<number> {
  const { cron, timeZone, overlap } = flags;
  // Before an image is built for times that are wrong.
  const problems = timesProblems({ name, cron, timeZone, overlap });
  if (problems.length > 0)
    throw new CliError(
      ExitCode.Usage,
      formatProblems(problems.map((each) => ({ ...each, path: [FLAGS[String(each.path[0])] ?? 'NAME'] }))),
    );
  const job = await readOneJob('schedule create NAME --cron CRON', file, flags, command);
  const named = file ?? BY_FLAGS;
  tellWarnings(named, job.warnings);
  await agreeToOutside(job.outside, flags);
  const context = configured(flags);
  return withCheckedJob(job, named, { context, flags }, async (client, checked) => {
    const created = await client
      .schedules()
      .create({ ...submissionOf(checked, context), name, cron, timeZone, overlap })
      .finally(() => checked.uploading.end());
    removeScratchFolder();
    tellWarnings(named, [...new Set([...(await checked.farAway), ...(created.warnings ?? [])])]);
    const { isNew, next } = created;
    if (flags.output === 'json') {
      printOut(`${JSON.stringify({ name, isNew, next }, null, 2)}\n`);
      return ExitCode.Done;
    }
    const place = shortPlace(context);
    const lines = [
      `${name}   ${cron}, ${timeZone}   overlap ${overlap}${place === undefined ? '' : `   ${place}`}`,
      ...(isNew ? [] : [`${name} was created before with the same content: it is that schedule`]),
      ...next.map((at, index) => `  ${index === 0 ? 'next' : '    '} ${timeInZone(at, timeZone)}`),
    ];
    if (!process.stdout.isTTY) {
      printErr(`${lines.join('\n')}\n`);
      printOut(`${name}\n`);
      return ExitCode.Done;
    }
    const commands = `  jobctl schedule status ${name}    its last jobs\n  jobctl schedule trigger ${name}   one of them now\n`;
    printOut(`${lines.join('\n')}\n${asTyped(commands)}`);
    return ExitCode.Done;
  });
}

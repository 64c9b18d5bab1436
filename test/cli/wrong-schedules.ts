import type { BadInput } from './bad-input.js';

/** A schedule of a good job, with these words of the command line. */
const scheduled = (wants: readonly string[], ...args: readonly string[]): BadInput => ({
  text: 'tpu: { accelerator: v5litepod-8, zone: us-central1-a }\ncommand: { run: "true" }\n',
  args: ['schedule', 'create', ...args],
  wants: wants.join('\n'),
});
const FIELDS = "  five fields: minute, hour, day of the month, month, day of the week, such as '30 2 * * mon-fri'";

/** Schedules whose name, times or words are wrong. */
export const WRONG_SCHEDULES: Readonly<Record<string, BadInput>> = {
  'a cron that never comes': scheduled(
    ["--cron: '0 0 30 2 *' never comes: no month has such a day", '  the shortest February has 28 days, April 30'],
    ...['nightly', 'FILE', '--cron', '0 0 30 2 *'],
  ),
  'a cron with seconds': scheduled(
    ["--cron: '0 30 2 * * *' has 6 fields, and a cron of jobctl has no seconds and no years", FIELDS],
    ...['nightly', 'FILE', '--cron', '0 30 2 * * *'],
  ),
  'a cron that comes each minute': scheduled(
    [
      "--cron: '* * * * *' has times 1 minute apart: 5 minutes are the least",
      '  a job needs minutes to get its machines; for work that goes on and on, let one job loop (`loop: true`)',
    ],
    ...['nightly', 'FILE', '--cron', '* * * * *'],
  ),
  'a cron of two lines': scheduled(
    ["--cron: '0 2 * * *\\n0 3 * * *' has more than one line", FIELDS],
    ...['nightly', 'FILE', '--cron', '0 2 * * *\n0 3 * * *'],
  ),
  'a cron, a name and a zone that are none': scheduled(
    [
      "NAME: 'Nightly' is no name",
      '  a name of small letters, digits and dashes that starts with a letter, 34 characters at most: ids of its jobs begin with it',
      "--cron: hour: '25' is no value, range or step from 0 to 23",
      FIELDS,
      "--time-zone: 'America/New_Yrok' is no time zone",
      '  did you mean America/New_York? a name of the time zone database is wanted, such as America/New_York or UTC',
    ],
    ...['Nightly', 'FILE', '--cron', '0 25 * * *', '--time-zone', 'America/New_Yrok'],
  ),
  'an overlap policy that is none': scheduled(
    [
      "jobctl schedule create: option '--overlap <policy>' argument 'terminate' is invalid",
      '  allowed choices are skip, queue, cancel, allow',
      '  `jobctl schedule create --help` shows what there is',
    ],
    ...['nightly', 'FILE', '--cron', '@daily', '--overlap', 'terminate'],
  ),
  'a schedule without a cron': scheduled(
    [
      "jobctl schedule create: required option '--cron <cron>' not specified",
      '  `jobctl schedule create --help` shows what there is',
    ],
    ...['nightly', 'FILE'],
  ),
  'a schedule without a job': scheduled(
    [
      'jobctl schedule create NAME --cron CRON: neither a job file nor --tpu is given',
      '  jobctl schedule create NAME --cron CRON train.yaml, or jobctl schedule create NAME --cron CRON --tpu v5litepod-16 -- python3 train.py',
      '  `jobctl schedule create NAME --cron CRON --help` shows what there is',
    ],
    ...['nightly', '--cron', '@daily'],
  ),
};

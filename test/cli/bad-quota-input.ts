import type { BadInput } from './bad-input.js';

function usage(words: readonly string[], ...lines: readonly string[]): BadInput {
  const verb = `jobctl quota ${words[0] ?? ''}`;
  const [what, ...rest] = [...lines, `\`${verb} --help\` shows what there is`];
  return { args: ['quota', ...words], wants: [`${verb}: ${what}`, ...rest.map((line) => `  ${line}`)].join('\n') };
}

function refused(words: readonly string[], ...lines: readonly string[]): BadInput {
  return { args: ['quota', ...words], wants: lines.join('\n') };
}

const NO_BUCKET = [
  '  jobctl keeps logs and files of jobs in a bucket of Cloud Storage or S3, or in a folder that its workers share',
  '  name it with --bucket or JOBCTL_BUCKET, or start a local stack with `jobctl dev up`',
];
const GOOD = `[toml-schema]
version = "1"
[total_resources]
v4 = 64
[project_membership]
vision = ["alice"]
[project_resources.vision]
v4 = 0.5
`;

/** Of `jobctl quota`. Nothing is changed by any of them. */
export const BAD_QUOTA: Readonly<Record<string, BadInput>> = {
  'a quota verb that is none': {
    args: ['quota', 'shw'],
    wants: "jobctl quota: unknown command 'shw'\n  the nearest is show\n  `jobctl quota --help` shows what there is",
  },
  'quota history of a time that is none': usage(
    ['history', '--since', 'yesterday'],
    "option '--since <duration>' argument 'yesterday' is invalid",
    'a duration such as 90s, 10m or 1h30m',
  ),
  'quota history of no rows': usage(
    ['history', '--limit', '0'],
    "option '--limit <rows>' argument '0' is invalid",
    'a whole number from 1 to 100000',
  ),
  'a priority of 6': usage(['set-priority', 'train-7f3k', '6'], "number: '6' is invalid", 'a whole number from 1 to 5'),
  'a priority of nothing': usage(['set-priority', 'train-7f3k'], "missing required argument 'number'"),
  'freeze with a word behind it': usage(
    ['freeze', 'now'],
    "too many arguments for 'freeze'",
    'expected 0 arguments but got 1',
  ),
  'freeze has no --yes': usage(['freeze', '--yes'], "unknown option '--yes'"),
  'a drain without a terminal and without --yes': refused(
    ['drain'],
    'quota drain: asks every job of the pool to give its chips back, and there is no terminal to confirm it on',
    '  say --yes if that is meant; `jobctl quota freeze` grants nothing new and touches nothing that runs',
  ),
  'apply without a terminal and without --yes': {
    ...refused(
      ['apply', 'FILE'],
      'quota apply: asks before it changes anything, and there is no terminal to ask on',
      '  `jobctl quota plan` shows what a file would change; --yes applies it without a question',
    ),
    text: GOOD,
  },
  'apply of nothing': refused(
    ['apply', '--yes'],
    'quota apply: no file was named',
    '  jobctl quota apply takes the path of a quota file (TOML), and of a pool file with --pool-file',
  ),
  'apply of a file that is not there': refused(
    ['apply', '--yes', '/nonexistent.toml'],
    '/nonexistent.toml: does not exist',
    '  jobctl quota apply takes the path of a quota file (TOML), and of a pool file with --pool-file',
  ),
  'apply of a wrong file, before anybody is asked': {
    text: GOOD.replace('v4 = 0.5', 'v4 = -0.5'),
    args: ['quota', 'apply', '--yes', 'FILE'],
    wants: 'FILE:8:6: v4: -0.5 is not a share: a number of 0 or more\n  nothing was changed',
  },
  'apply without a bucket': {
    text: GOOD,
    args: ['quota', 'apply', '--yes', 'FILE'],
    wants: ['no bucket is configured, so what a file changes cannot be known', ...NO_BUCKET].join('\n'),
  },
  'show without a bucket': refused(
    ['show'],
    "no bucket is configured, so nothing is known of pool 'default'",
    ...NO_BUCKET,
  ),
  'history without a bucket': refused(
    ['history', '--pool', 'research'],
    "no bucket is configured, so there is no history of pool 'research'",
    ...NO_BUCKET,
  ),
};

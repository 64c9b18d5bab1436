import type { BadInput } from './bad-input.js';

const JOB = 'examples/quick-start.yaml';

function rehearse(words: readonly string[], ...lines: readonly string[]): BadInput {
  const [what, ...rest] = [...lines, '`jobctl rehearse --help` shows what there is'];
  return {
    args: ['rehearse', JOB, ...words],
    wants: [`jobctl rehearse: ${what}`, ...rest.map((line) => `  ${line}`)].join('\n'),
  };
}

function invalid(option: string, value: string, ...why: readonly string[]): BadInput {
  const flag = option.split(' ')[0] ?? '';
  return rehearse([flag, value], `option '${option}' argument '${value}' is invalid`, ...why);
}

function ofCloud(words: readonly string[], ...lines: readonly string[]): BadInput {
  const verb = `jobctl rehearsal ${words[0] ?? ''}`;
  const [what, ...rest] = [...lines, `\`${verb} --help\` shows what there is`];
  return { args: ['rehearsal', ...words], wants: [`${verb}: ${what}`, ...rest.map((line) => `  ${line}`)].join('\n') };
}

/** Of `jobctl rehearse` and `jobctl rehearsal`. Nothing is started for any of them. */
export const BAD_REHEARSALS: Readonly<Record<string, BadInput>> = {
  'no preemption': invalid('--preempt <times>', '0', 'a whole number from 1 to 100'),
  'fewer preemptions than none': invalid('--preempt <times>', '-1', 'a whole number from 1 to 100'),
  'half a preemption': invalid('--preempt <times>', '1.5', 'a whole number from 1 to 100'),
  'a time scale of 0': invalid('--time-scale <times>', '0', 'a whole number from 1 to 1000'),
  'a seed that is no number': invalid('--seed <number>', 'x', 'a whole number from 0 to 4294967295'),
  'a notice that is no duration': invalid('--notice <duration>', 'soon', 'a duration such as 90s, 10m or 1h30m'),
  'a pattern that is none': invalid('--progress <regex>', 'step (', '/step (/: Unterminated group'),
  'a pattern without a group': invalid(
    '--progress <regex>',
    String.raw`step \d+`,
    'it has 0 groups, and one is wanted: the number',
    String.raw`such as 'step (\d+)'`,
  ),
  "a job on machines of one's own": {
    text: 'machines: {}\ncommand: { run: "true" }\n',
    args: ['rehearse', 'FILE'],
    wants: [
      "FILE: nobody takes machines of one's own back, so there is no preemption to rehearse",
      '  to try the job on this computer: jobctl submit --local',
    ].join('\n'),
  },
  'a job file that is not there': {
    args: ['rehearse', '/nonexistent/job.yaml'],
    wants: '/nonexistent/job.yaml: does not exist\n  the path of a job file (YAML) is wanted; `jobctl init` writes one',
  },
  'a fault script that is not there': {
    args: ['rehearse', JOB, '--script', '/nonexistent/storm.yaml'],
    wants: '/nonexistent/storm.yaml: does not exist\n  a fault script is YAML: docs/rehearsal.md, "Fault scripts"',
  },
  'a fault script that is wrong': {
    text: 'version: 1\nevents:\n  - at: soon\n    preempt: {node: .*}\n',
    args: ['rehearse', JOB, '--script', 'FILE'],
    wants: "FILE:3:9: events[0].at: 'soon' is not a duration, such as 30s, 5m or 1h30m",
  },
  'no slice': ofCloud(['preempt'], `missing required argument 'slice'`),
  'a slice that vanishes with notice': ofCloud(
    ['preempt', 'x', '--notice', '5m', '--vanish'],
    `option '--vanish' cannot be used with option '--notice [duration]'`,
  ),
  'capacity of a region': ofCloud(
    ['capacity', 'us-central1', '4'],
    `place: 'us-central1' is invalid`,
    'a zone and a generation, such as us-central1-a/v5litepod, and perhaps a tier behind them; or a zone and a machine type',
  ),
  'capacity of a tier that is none': ofCloud(
    ['capacity', 'us-central1-a/v5litepod/cheap', '4'],
    `place: 'us-central1-a/v5litepod/cheap' is invalid`,
    'the tier is reserved, on-demand, spot or absent',
  ),
  'chips that are no number': ofCloud(
    ['capacity', 'us-central1-a/v5litepod', 'many'],
    `chips: 'many' is invalid`,
    'a number of chips, 0 or more, or unlimited',
  ),
  'a clock that goes back': ofCloud(
    ['clock', '--step', '-5'],
    `option '--step <duration>' argument '-5' is invalid`,
    'a duration such as 90s, 10m or 1h30m',
  ),
  'failures of nothing': {
    args: ['rehearsal', 'fail'],
    wants:
      "jobctl rehearsal fail: which calls are to fail?\n  such as CreateQueuedResource, objects.insert, or '*' for all; --stop",
  },
  'an unknown verb of the rehearsal': {
    args: ['rehearsal', 'preemt', 'x'],
    wants: [
      `jobctl rehearsal: unknown command 'preemt'`,
      '  the nearest is preempt',
      '  `jobctl rehearsal --help` shows what there is',
    ].join('\n'),
  },
};

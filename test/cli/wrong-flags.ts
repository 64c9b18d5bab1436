import { type BadInput, GOOD } from './bad-input.js';

/** Flags of submit that are empty, negative, too large, of another form, without a value, or with one that they do not take. */
export const WRONG_FLAGS: Readonly<Record<string, BadInput>> = {
  'a file twice': {
    text: GOOD,
    args: ['submit', 'FILE', '--name', 'a', '--name', 'b', 'x'],
    wants: [
      "jobctl submit: too many arguments for 'submit'",
      '  expected 1 argument but got 2',
      '  a command goes behind --: jobctl submit FILE -- CMD..',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
  },
  'a name that is empty': {
    text: GOOD,
    args: ['submit', 'FILE', '--name', ''],
    wants:
      "--name: '' is not a name of small letters, digits and dashes that starts with a letter, 50 characters at most",
  },
  'a name with =': {
    text: GOOD,
    args: ['submit', 'FILE', '--name='],
    wants:
      "--name: '' is not a name of small letters, digits and dashes that starts with a letter, 50 characters at most",
  },
  'a project that is empty': {
    text: GOOD,
    args: ['submit', 'FILE', '--project', ''],
    wants: "--project: project: '' is not text of one character or more",
  },
  '--user that is empty': {
    text: GOOD,
    args: ['submit', 'FILE', '--user', ''],
    wants: "--user: user: '' is not text of one character or more",
  },
  '--user with a blank': {
    text: GOOD,
    args: ['submit', 'FILE', '--user', 'a b'],
    wants: ["--user: user: 'a b' is no user", '  letters, digits and . _ - + @; 100 at most'].join('\n'),
  },
  '--slices of 0': {
    text: GOOD,
    args: ['submit', 'FILE', '--slices', '0'],
    wants: [
      "jobctl submit: option '--slices <number>' argument '0' is invalid",
      '  a whole number from 1 to 256',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
  },
  '--slices that are negative': {
    text: GOOD,
    args: ['submit', 'FILE', '--slices', '-1'],
    wants: [
      "jobctl submit: option '--slices <number>' argument '-1' is invalid",
      '  a whole number from 1 to 256',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
  },
  '--slices that are too many': {
    text: GOOD,
    args: ['submit', 'FILE', '--slices', '257'],
    wants: [
      "jobctl submit: option '--slices <number>' argument '257' is invalid",
      '  a whole number from 1 to 256',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
  },
  '--slices with =': {
    text: GOOD,
    args: ['submit', 'FILE', '--slices=two'],
    wants: [
      "jobctl submit: option '--slices <number>' argument 'two' is invalid",
      '  a whole number from 1 to 256',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
  },
  '--priority of high': {
    text: GOOD,
    args: ['submit', 'FILE', '--priority', 'high'],
    wants: [
      "jobctl submit: option '--priority <number>' argument 'high' is invalid",
      '  a whole number from 1 to 5',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
  },
  '--priority without a value': {
    text: GOOD,
    args: ['submit', 'FILE', '--priority'],
    wants: [
      "jobctl submit: option '--priority <number>' argument missing",
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
  },
  '--set of nothing': {
    text: GOOD,
    args: ['submit', 'FILE', '--set', ''],
    wants: ["--set : '' has no =", '  write --set key=value, such as --set tpu.accelerator=v6e-8'].join('\n'),
  },
  '--set with a blank around =': {
    text: GOOD,
    args: ['submit', 'FILE', '--set', 'slices = 2x'],
    wants: "--set slices = 2x: slices: '2x' is not a whole number from 1 to 256",
  },
  '--set that is no YAML': {
    text: GOOD,
    args: ['submit', 'FILE', '--set', 'tpu.zones=[a'],
    wants: ["--set tpu.zones=[a: tpu.zones: '[a' is not a YAML value", '  put it in quotes'].join('\n'),
  },
  '--bundle that is a file': {
    text: GOOD,
    args: ['submit', 'FILE', '--bundle', 'FILE', '--dry-run'],
    wants: [
      "--bundle: bundle.dir: 'DIR/job.yaml' is no folder",
      '  looked for at DIR/job.yaml; a relative path starts at the current folder',
    ].join('\n'),
  },
  '--bundle of nothing': {
    text: GOOD,
    args: ['submit', 'FILE', '--bundle', ''],
    wants: ["--bundle: '' names no folder", '  . is the current one: --bundle .'].join('\n'),
  },
  '--wait with a value': {
    text: GOOD,
    args: ['submit', 'FILE', '--wait=yes'],
    wants: ["jobctl submit: unknown option '--wait=yes'", '  `jobctl submit --help` shows what there is'].join('\n'),
  },
};

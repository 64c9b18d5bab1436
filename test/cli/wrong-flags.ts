import { type BadInput, WITH } from './bad-input.js';

/** Flags of submit that are empty, negative, too large, of another form, without a value, or with one that they do not take. */
export const WRONG_FLAGS: Readonly<Record<string, BadInput>> = {
  'a file twice': WITH(
    [
      "jobctl submit: too many arguments for 'submit'",
      '  expected 1 argument but got 2',
      '  a command goes behind --: jobctl submit FILE -- CMD..',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    '--name',
    'a',
    '--name',
    'b',
    'x',
  ),
  'a name that is empty': WITH(
    "--name: '' is not a name of small letters, digits and dashes that starts with a letter, 50 characters at most",
    '--name',
    '',
  ),
  'a name with =': WITH(
    "--name: '' is not a name of small letters, digits and dashes that starts with a letter, 50 characters at most",
    '--name=',
  ),
  'a project that is empty': WITH("--project: project: '' is not text of one character or more", '--project', ''),
  '--user that is empty': WITH("--user: user: '' is not text of one character or more", '--user', ''),
  '--user with a blank': WITH(
    ["--user: user: 'a b' is no user", '  letters, digits and . _ - + @; 100 at most'].join('\n'),
    '--user',
    'a b',
  ),
  '--slices of 0': WITH(
    [
      "jobctl submit: option '--slices <number>' argument '0' is invalid",
      '  a whole number from 1 to 256',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    '--slices',
    '0',
  ),
  '--slices that are negative': WITH(
    [
      "jobctl submit: option '--slices <number>' argument '-1' is invalid",
      '  a whole number from 1 to 256',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    '--slices',
    '-1',
  ),
  '--slices that are too many': WITH(
    [
      "jobctl submit: option '--slices <number>' argument '257' is invalid",
      '  a whole number from 1 to 256',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    '--slices',
    '257',
  ),
  '--slices with =': WITH(
    [
      "jobctl submit: option '--slices <number>' argument 'two' is invalid",
      '  a whole number from 1 to 256',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    '--slices=two',
  ),
  '--priority of high': WITH(
    [
      "jobctl submit: option '--priority <number>' argument 'high' is invalid",
      '  a whole number from 1 to 5',
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    '--priority',
    'high',
  ),
  '--priority without a value': WITH(
    [
      "jobctl submit: option '--priority <number>' argument missing",
      '  `jobctl submit --help` shows what there is',
    ].join('\n'),
    '--priority',
  ),
  '--set of nothing': WITH(
    ["--set : '' has no =", '  write --set key=value, such as --set tpu.accelerator=v6e-8'].join('\n'),
    '--set',
    '',
  ),
  '--set with a blank around =': WITH(
    "--set slices = 2x: slices: '2x' is not a whole number from 1 to 256",
    '--set',
    'slices = 2x',
  ),
  '--set that is no YAML': WITH(
    ["--set tpu.zones=[a: tpu.zones: '[a' is not a YAML value", '  put it in quotes'].join('\n'),
    '--set',
    'tpu.zones=[a',
  ),
  '--bundle that is a file': WITH(
    [
      "--bundle: bundle.dir: 'DIR/job.yaml' is no folder",
      '  looked for at DIR/job.yaml; a relative path starts at the current folder',
    ].join('\n'),
    '--bundle',
    'FILE',
    '--dry-run',
  ),
  '--bundle of nothing': WITH(
    ["--bundle: '' names no folder", '  . is the current one: --bundle .'].join('\n'),
    '--bundle',
    '',
  ),
  '--wait with a value': WITH(
    ["jobctl submit: unknown option '--wait=yes'", '  `jobctl submit --help` shows what there is'].join('\n'),
    '--wait=yes',
  ),
};

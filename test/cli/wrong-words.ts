import type { BadInput } from './bad-input.js';

/** Flags and arguments of the other verbs, wrong in the same ways. */
export const WRONG_WORDS: Readonly<Record<string, BadInput>> = {
  'doctor --record of something else than Google Cloud': {
    args: ['doctor', '--kubernetes', '--record', 'answers'],
    wants: ['--record: records what Google answers', '  say --gcp too'].join('\n'),
  },
  'contract that names no cloud': {
    args: ['contract', '--spend', '1'],
    wants: [
      'jobctl contract: --gcp is missing',
      '  it makes a slice that costs money: name the cloud, the most that it may cost, and the zone',
      '  such as: jobctl contract --gcp --spend 1 --zone us-central1-a',
    ].join('\n'),
  },
  '--host of less than nothing': {
    args: ['logs', 'j', '--host', '-1'],
    wants: [
      "jobctl logs: option '--host <hosts>' argument '-1' is invalid",
      '  a number of a host from 0, a list such as 0,2-3, or all',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--host that counts down': {
    args: ['logs', 'j', '--host', '3-1'],
    wants: [
      "jobctl logs: option '--host <hosts>' argument '3-1' is invalid",
      '  a number of a host from 0, a list such as 0,2-3, or all',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--host with a comma too many': {
    args: ['logs', 'j', '--host', '0,,2'],
    wants: [
      "jobctl logs: option '--host <hosts>' argument '0,,2' is invalid",
      '  a number of a host from 0, a list such as 0,2-3, or all',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--attempt 0': {
    args: ['logs', 'j', '--attempt', '0'],
    wants: [
      "jobctl logs: option '--attempt <number>' argument '0' is invalid",
      '  a whole number from 1 to 100000',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--tail of half a line': {
    args: ['logs', 'j', '--tail', '1.5'],
    wants: [
      "jobctl logs: option '--tail <lines>' argument '1.5' is invalid",
      '  a whole number from 0 to 10000000',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--since of the future, a word': {
    args: ['logs', 'j', '--since', 'tomorrow'],
    wants: [
      "jobctl logs: option '--since <time>' argument 'tomorrow' is invalid",
      '  how long ago, such as 90s, 10m or 1h30m, or a time such as 2026-11-23T10:00:00Z or 2026-11-23',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--since of a wrong date': {
    args: ['logs', 'j', '--since', '2026-13-45'],
    wants: [
      "jobctl logs: option '--since <time>' argument '2026-13-45' is invalid",
      '  how long ago, such as 90s, 10m or 1h30m, or a time such as 2026-11-23T10:00:00Z or 2026-11-23',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  '--grep that is empty of a group': {
    args: ['logs', 'j', '--grep', '(?<=x)y'],
    wants: [
      "--grep: '(?<=x)y' is not a regular expression: invalid named capture, at character 1: `(?<=x)y`",
      '  RE2 syntax: most of grep -E and Python, without look-around and backreferences; \\ before a character takes it literally',
    ].join('\n'),
  },
  '--timeout that is negative': {
    args: ['wait', 'j', '--timeout', '-1s'],
    wants: [
      "jobctl wait: option '--timeout <duration>' argument '-1s' is invalid",
      '  a duration such as 90s, 10m or 1h30m',
      '  `jobctl wait --help` shows what there is',
    ].join('\n'),
  },
  '--timeout of two units apart': {
    args: ['wait', 'j', '--timeout', '1h 30m'],
    wants: [
      "jobctl wait: option '--timeout <duration>' argument '1h 30m' is invalid",
      '  a duration such as 90s, 10m or 1h30m',
      '  `jobctl wait --help` shows what there is',
    ].join('\n'),
  },
  '--limit that is huge': {
    args: ['list', '--limit', '1e9'],
    wants: [
      "jobctl list: option '--limit <rows>' argument '1e9' is invalid",
      '  a whole number from 1 to 100000',
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  '--limit of a word': {
    args: ['list', '--limit', 'all'],
    wants: [
      "jobctl list: option '--limit <rows>' argument 'all' is invalid",
      '  a whole number from 1 to 100000',
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  '--sort that is unknown': {
    args: ['list', '--sort', 'age'],
    wants: [
      "jobctl list: option '--sort <key>' argument 'age' is invalid",
      '  allowed choices are board, submitted, ended, name, user, project, chips',
      '  the nearest is name',
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  '--name of a capital': {
    args: ['list', '--name', 'LR-*'],
    wants: [
      "jobctl list: option '--name <pattern>' argument 'LR-*' is invalid",
      "  ids of jobs are small letters, digits and dashes; * stands for any text, ? for one character (quote them: 'lr-*')",
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  '--phase of nothing': {
    args: ['list', '--phase', ''],
    wants: [
      "jobctl list: option '--phase <phases>' argument '' is invalid",
      '  allowed choices are queued, provisioning, setting-up, running, paused, released, evicting, holding, finishing, succeeded, failed, cancelled, terminated',
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  '--phase with a blank': {
    args: ['list', '--phase', 'queued, runing'],
    wants: [
      "jobctl list: option '--phase <phases>' argument 'queued, runing' is invalid",
      "  'runing' is not a phase",
      '  allowed choices are queued, provisioning, setting-up, running, paused, released, evicting, holding, finishing, succeeded, failed, cancelled, terminated',
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  '--since without a unit word': {
    args: ['list', '--since', 'week'],
    wants: [
      "jobctl list: option '--since <duration>' argument 'week' is invalid",
      '  a duration such as 90s, 10m or 1h30m',
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  '--mine beside --user': {
    args: ['list', '--mine', '--user', 'alice'],
    wants: [
      "jobctl list: option '--mine' cannot be used with option '--user <user>'",
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  '--watch in a pipe': {
    args: ['list', '--watch'],
    wants: [
      'jobctl list: --watch draws on a terminal, and this is none',
      '  a script repeats `jobctl list --output json`',
    ].join('\n'),
  },
  '-o of nothing': {
    args: ['list', '-o', ''],
    wants: [
      "jobctl list: option '-o, --output <format>' argument '' is invalid",
      '  allowed choices are text, json',
      '  `jobctl list --help` shows what there is',
    ].join('\n'),
  },
  'a flag with one dash': {
    args: ['list', '-mine'],
    wants: ["jobctl list: unknown option '-mine'", '  `jobctl list --help` shows what there is'].join('\n'),
  },
  'two short flags that do not exist': {
    args: ['logs', 'j', '-nf'],
    wants: ["jobctl logs: unknown option '-nf'", '  `jobctl logs --help` shows what there is'].join('\n'),
  },
  'no id': {
    args: ['logs'],
    wants: ["jobctl logs: missing required argument 'job'", '  `jobctl logs --help` shows what there is'].join('\n'),
  },
  'two ids where one is wanted': {
    args: ['logs', 'a', 'b'],
    wants: [
      "jobctl logs: too many arguments for 'logs'",
      '  expected 1 argument but got 2',
      '  `jobctl logs --help` shows what there is',
    ].join('\n'),
  },
  'a cp between two jobs': {
    args: ['cp', 'a:x', 'b:y'],
    wants: [
      'cp: both sides are jobs, or the sources are of both kinds',
      '  to hosts: jobctl cp FILE.. JOB:PATH      from a host: jobctl cp JOB:PATH.. FOLDER',
      '  a file here whose name begins like a job: ./NAME',
    ].join('\n'),
  },
  'a port too many': {
    args: ['port-forward', 'j', '1:2:3'],
    wants: [
      "jobctl port-forward: ports: '1:2:3' is invalid",
      '  a port from 1 to 65535, or two of them, LOCAL:REMOTE',
      '  `jobctl port-forward --help` shows what there is',
    ].join('\n'),
  },
  'ports of 0': {
    args: ['port-forward', 'j', '0'],
    wants: [
      "jobctl port-forward: ports: '0' is invalid",
      '  a port from 1 to 65535, or two of them, LOCAL:REMOTE',
      '  `jobctl port-forward --help` shows what there is',
    ].join('\n'),
  },
  'a verb in capitals': {
    args: ['LIST'],
    wants: ["jobctl: unknown command 'LIST'", '  `jobctl --help` shows what there is'].join('\n'),
  },
  'a context that does not exist': {
    args: ['list', '--context', 'prod'],
    wants: [
      "--context: there is no context 'prod' in DIR/.config/jobctl/contexts.toml",
      '  there are no contexts yet',
      '  to make it: jobctl context set prod --server URL, or --temporal-address HOST:PORT',
    ].join('\n'),
  },
  'a context without a name': {
    args: ['context', 'set'],
    wants: [
      "jobctl context set: missing required argument 'context'",
      '  `jobctl context set --help` shows what there is',
    ].join('\n'),
  },
  'a context that names no server': {
    args: ['context', 'set', 'prod'],
    wants: [
      'context prod: is new, and needs a server',
      '  jobctl context set prod --server URL, or --temporal-address HOST:PORT',
    ].join('\n'),
  },
  'a context of a port that is a word': {
    args: ['context', 'set', 'prod', '--temporal-address', 'a:b'],
    wants: ["--temporal-address: 'a:b' is not HOST:PORT", '  such as temporal.example.com:7233'].join('\n'),
  },
  'a secret in capitals and blanks': {
    args: ['secret', 'put', 'MY TOKEN'],
    wants: "'MY TOKEN' is not a secret's name: a letter, then letters, digits, - and _; 100 characters at most",
  },
  'a shell that nobody has': {
    args: ['completion', 'tcsh'],
    wants: [
      "jobctl completion: shell: 'tcsh' is invalid",
      '  allowed choices are bash, zsh, fish',
      '  `jobctl completion --help` shows what there is',
    ].join('\n'),
  },
  '--bucket that has capitals': {
    args: ['logs', 'j', '--bucket', 'My_Bucket'],
    wants: [
      "--bucket: 'My_Bucket' is not the name of a bucket",
      '  small letters, digits, -, _ and dots; a letter or digit at both ends',
    ].join('\n'),
  },
  '--tpu with a blank': {
    args: ['submit', '--tpu', 'v5litepod 16', '--zone', 'us-central1-a', '--', 'true'],
    wants: [
      "--tpu: tpu.accelerator: 'v5litepod 16' is no Cloud TPU type",
      '  allowed: v5litepod-1, v5litepod-4, v5litepod-8, v5litepod-16, v5litepod-32, v5litepod-64, v5litepod-128, v5litepod-256',
    ].join('\n'),
  },
  '--zone of a list': {
    args: ['submit', '--tpu', 'v5litepod-16', '--zone', 'us-central1-a,us-east1-d', '--dry-run', '--', 'true'],
    wants: [
      "--zone: tpu.zone: 'us-central1-a,us-east1-d' is no zone",
      '  a zone is a region and a letter, such as us-central1-a',
    ].join('\n'),
  },
};

import { failed, outOf, retry, type Rows } from './decisions.js';

/** Ends that a repeated command may avoid, charged to the task. */
const OF_THE_TASK = ['another code', 'run time over', 'silent'] as const;
const OF_A_LOOP = [...OF_THE_TASK, 'restart code'] as const;
const RUNS = { lease: 'stands', command: 'ended' } as const;
const NO_RESTART = { restart: 'not asked for' } as const;

/** The next action of a job: between two steps, and after an attempt. */
export const JOB_ROWS: Pick<Rows, 'step due' | 'attempt ended'> = {
  'step due': [
    {
      name: 'the pool revoked the lease of a running command',
      when: { lease: 'revoked', command: 'may run' },
      decision: { do: 'save' },
    },
    {
      name: 'a person interrupts a running command',
      when: { lease: 'stands', request: ['stop', 'stop --release', 'requeue', 'restart'], command: 'may run' },
      decision: { do: 'save' },
    },
    {
      name: 'the lease is revoked',
      when: { lease: 'revoked', request: ['none', 'requeue', 'restart'], command: 'ended' },
      decision: { do: 'give back', to: 'pool', next: 'ask again' },
    },
    {
      name: 'the lease of a stopped job is revoked',
      when: { lease: 'revoked', request: ['stop', 'stop --release'], command: 'ended' },
      decision: { do: 'give back', to: 'pool', next: 'rest' },
    },
    { name: 'a restart', when: { ...RUNS, request: 'restart' }, decision: { do: 'start anew' } },
    {
      name: 'a requeue',
      when: { ...RUNS, request: 'requeue', holds: ['lease and all slices', 'lease', 'something'] },
      decision: { do: 'give back', to: 'person', next: 'ask again' },
    },
    {
      name: 'a requeue of a job that holds nothing',
      when: { ...RUNS, request: 'requeue', holds: 'nothing' },
      decision: { do: 'start anew' },
    },
    {
      name: 'a stop keeps a whole gang',
      when: { ...RUNS, request: 'stop', holds: 'lease and all slices' },
      decision: { do: 'pause' },
    },
    {
      name: 'a stop keeps no part of a gang',
      when: { ...RUNS, request: 'stop', holds: ['lease', 'something'] },
      decision: { do: 'give back', to: 'person', next: 'rest' },
    },
    {
      name: 'a stop with --release',
      when: { ...RUNS, request: 'stop --release', holds: ['lease and all slices', 'lease', 'something'] },
      decision: { do: 'give back', to: 'person', next: 'rest' },
    },
    {
      name: 'a stop of a job that holds nothing',
      when: { ...RUNS, request: ['stop', 'stop --release'], holds: 'nothing' },
      decision: { do: 'rest' },
    },
    {
      name: 'nobody wants anything, and the lease is held',
      when: { lease: 'stands', request: 'none', holds: ['lease and all slices', 'lease'] },
      decision: { do: 'use lease' },
    },
    {
      name: 'nobody wants anything, and there is no lease',
      when: { lease: 'stands', request: 'none', holds: ['something', 'nothing'] },
      decision: { do: 'wait for lease' },
    },
  ],
  'attempt ended': [
    { name: 'nothing has ended', when: { end: 'unwatched' }, decision: { do: 'keep' } },
    { name: 'the pool or a person interrupted it', when: { end: 'interrupted' }, decision: { do: 'keep' } },
    {
      name: 'slices were lost that had to go anyway',
      when: { end: ['slices preempted', 'slices failed', 'run duration over'], lease: 'revoked' },
      decision: { do: 'keep' },
    },
    {
      name: 'the run duration of its slices is over',
      when: { end: 'run duration over', lease: 'stands' },
      decision: { do: 'replace' },
    },
    {
      name: 'slices were preempted by the provider',
      when: { end: 'slices preempted', lease: 'stands', preemption: 'left' },
      decision: retry('preemption', 'lost slices'),
    },
    {
      name: 'slices were preempted, and the budget is spent',
      when: { end: 'slices preempted', lease: 'stands', preemption: 'spent' },
      decision: outOf('preemption'),
    },
    {
      name: 'slices failed',
      when: { end: 'slices failed', lease: 'stands', infrastructure: 'left' },
      decision: retry('infrastructure', 'lost slices'),
    },
    {
      name: 'slices failed, and the budget is spent',
      when: { end: 'slices failed', lease: 'stands', infrastructure: 'spent' },
      decision: outOf('infrastructure'),
    },
    // A restore or a reset has set Temporal back.
    { name: 'the store has its outcome already', when: { end: 'ended before' }, decision: { do: 'stored outcome' } },
    {
      name: 'a restart was accepted, whatever the attempt came to',
      when: {
        end: [
          'code 0',
          ...OF_A_LOOP,
          'machine at fault',
          'set-up time over',
          'run lost',
          'given back',
          'module failed',
          'host bad',
          'worker failed',
        ],
        restart: 'asked for',
      },
      decision: { do: 'keep' },
    },
    { name: 'the command is done', when: { end: 'code 0', ...NO_RESTART, loop: 'none' }, decision: { do: 'succeed' } },
    {
      name: 'a workspace is given back',
      when: { end: 'given back', ...NO_RESTART },
      decision: { do: 'succeed' },
    },
    {
      name: 'a command that loops has ended',
      when: { end: ['code 0', ...OF_A_LOOP], ...NO_RESTART, loop: 'again' },
      decision: { do: 'loop' },
    },
    {
      name: 'a command that loops ends at once, again and again',
      when: { end: ['code 0', ...OF_A_LOOP], ...NO_RESTART, loop: 'gives up' },
      decision: { do: 'fail', by: 'task', loop: true },
    },
    {
      name: 'the command failed, ran for too long or was silent',
      when: { end: OF_THE_TASK, ...NO_RESTART, loop: 'none', task: 'left' },
      decision: retry('task', 'nothing'),
    },
    {
      name: 'the command failed, and the budget is spent',
      when: { end: OF_THE_TASK, ...NO_RESTART, loop: 'none', task: 'spent' },
      decision: failed('task'),
    },
    {
      name: 'the command failed, and its machine is at fault',
      when: { end: 'machine at fault', ...NO_RESTART, infrastructure: 'left' },
      decision: retry('infrastructure', 'its slice'),
    },
    // A failure that can no longer be blamed on a machine is the program's own.
    {
      name: 'a machine is at fault, and only the command may be repeated',
      when: { end: 'machine at fault', ...NO_RESTART, infrastructure: 'spent', task: 'left' },
      decision: retry('task', 'nothing'),
    },
    {
      name: 'a machine is at fault, and no budget is left',
      when: { end: 'machine at fault', ...NO_RESTART, infrastructure: 'spent', task: 'spent' },
      decision: failed('task'),
    },
    {
      name: 'the command asks for another start by its exit code',
      when: { end: 'restart code', ...NO_RESTART, loop: 'none', requested: 'left' },
      decision: retry('requested', 'nothing'),
    },
    {
      name: 'the command asks for another start, and the budget is spent',
      when: { end: 'restart code', ...NO_RESTART, loop: 'none', requested: 'spent' },
      decision: outOf('requested'),
    },
    { name: 'timeouts.setup is over', when: { end: 'set-up time over', ...NO_RESTART }, decision: failed('task') },
    { name: 'a module fails', when: { end: 'module failed', ...NO_RESTART }, decision: failed('task') },
    {
      name: 'a host lost the run',
      when: { end: 'run lost', ...NO_RESTART, infrastructure: 'left' },
      decision: retry('infrastructure', 'nothing'),
    },
    {
      name: 'a host cannot be set up',
      when: { end: 'host bad', ...NO_RESTART, infrastructure: 'left' },
      decision: retry('infrastructure', 'its slice'),
    },
    {
      name: 'a host failed, and the budget is spent',
      when: { end: ['run lost', 'host bad'], ...NO_RESTART, infrastructure: 'spent' },
      decision: outOf('infrastructure'),
    },
    // The hosts are as before, and a command may still run: the next attempt ends it before it begins.
    {
      name: 'workers report errors again and again',
      when: { end: 'worker failed', ...NO_RESTART, infrastructure: 'left' },
      decision: retry('infrastructure', 'nothing'),
    },
    {
      name: 'workers report errors again and again, and the budget is spent',
      when: { end: 'worker failed', ...NO_RESTART, infrastructure: 'spent' },
      decision: outOf('infrastructure'),
    },
  ],
};

import type { Rows } from './decisions.js';

/** A set-up or command that ends, or has to end, and the worker that watches it. */
export const COMMAND_ROWS: Pick<
  Rows,
  'command ended' | 'worker failed' | 'set-up interrupted' | 'command interrupted'
> = {
  'command ended': [
    // Each host confirms this claim for the moment of the end, whatever the API says later (docs/adr/0040).
    {
      name: 'code 0, and every host was up and not preempted as it ended',
      when: { hosts: 'code 0' },
      decision: { do: 'report end' },
    },
    {
      name: 'code 0, and a host cannot say how it was',
      when: { hosts: 'code 0, unwitnessed', slices: 'not looked at' },
      decision: { do: 'look at slices', patience: 'shutdown' },
    },
    {
      name: 'code 0 of a command that was told to end may come with a loss',
      when: { hosts: 'code 0, told to end', slices: 'not looked at' },
      decision: { do: 'look at slices', patience: 'none' },
    },
    {
      name: 'code 0, and nothing was seen that speaks against it',
      when: { hosts: ['code 0, unwitnessed', 'code 0, told to end'], slices: 'there' },
      decision: { do: 'report end' },
    },
    {
      name: 'code 0, and the slices were taken',
      when: { hosts: ['code 0, unwitnessed', 'code 0, told to end'], slices: 'lost' },
      decision: { do: 'report loss' },
    },
    // instance/preempted is the provider's own word, and final. The API says so later.
    {
      name: 'a host was preempted as the command ended, with whatever code',
      when: { hosts: 'preempted' },
      decision: { do: 'report preemption' },
    },
    {
      name: 'a host shut down as the command ended, with whatever code',
      when: { hosts: 'shutting down', slices: 'not looked at' },
      decision: { do: 'look at slices', patience: 'shutdown' },
    },
    {
      name: 'a host shut down with its slice',
      when: { hosts: 'shutting down', slices: 'lost' },
      decision: { do: 'report loss' },
    },
    {
      name: 'a host shut down, and its slice is there',
      when: { hosts: 'shutting down', slices: 'there' },
      decision: { do: 'report lost run' },
    },
    { name: 'a host lost the run', when: { hosts: 'run lost' }, decision: { do: 'report end' } },
    { name: 'a host knows of a later attempt', when: { hosts: 'later attempt' }, decision: { do: 'report end' } },
    {
      name: 'a failure may be the first sign of a loss',
      when: { hosts: 'failed', slices: 'not looked at' },
      decision: { do: 'look at slices', patience: 'none' },
    },
    // A provider that takes a VM ends its processes first; the node was seen READY for some seconds more.
    {
      name: 'a signal of others may be a shutdown',
      when: { hosts: 'ended by a signal of others', slices: 'not looked at' },
      decision: { do: 'look at slices', patience: 'shutdown' },
    },
    {
      name: 'hosts that are taken away cannot print',
      when: { hosts: 'silent', slices: 'not looked at' },
      decision: { do: 'look at slices', patience: 'none' },
    },
    {
      name: 'the command failed on slices that are there',
      when: { hosts: ['failed', 'ended by a signal of others', 'silent'], slices: 'there' },
      decision: { do: 'report end' },
    },
    {
      name: 'the command failed with its slices',
      when: { hosts: ['failed', 'ended by a signal of others', 'silent'], slices: 'lost' },
      decision: { do: 'report loss' },
    },
  ],
  'worker failed': [
    {
      name: 'a worker went away: the command does not notice',
      when: { error: 'worker is gone' },
      decision: { do: 'other worker', pause: false },
    },
    {
      name: 'an error that may pass',
      when: { error: 'may pass', errors: 'few' },
      decision: { do: 'other worker', pause: true },
    },
    {
      name: 'errors again and again',
      when: { error: 'may pass', errors: 'too many' },
      decision: { do: 'end attempt' },
    },
    { name: 'an error that no retry mends', when: { error: 'final' }, decision: { do: 'end attempt' } },
  ],
  'set-up interrupted': [
    { name: 'its slices go: nobody waits for the set-up', when: { by: 'pool' }, decision: { do: 'interrupt' } },
    {
      name: 'its slices stay: the set-up is ended first',
      when: { by: ['person', 'clock'], end: 'not awaited' },
      decision: { do: 'save' },
    },
    {
      name: 'evidence counts, whoever asked for the end',
      when: { by: ['person', 'clock'], end: ['slices lost', 'ended before'] },
      decision: { do: 'believe end' },
    },
    {
      name: 'its time ran out as it ended by itself',
      when: { by: 'clock', end: ['ready', 'failed'] },
      decision: { do: 'believe end' },
    },
    {
      name: 'a person asked: what the set-up came to does not count',
      when: { by: 'person', end: ['no news', 'ready', 'failed', 'handed over'] },
      decision: { do: 'interrupt' },
    },
    {
      name: 'its time is over',
      when: { by: 'clock', end: ['no news', 'handed over'] },
      decision: { do: 'interrupt' },
    },
  ],
  'command interrupted': [
    { name: 'there is no command to stop', when: { command: 'none' }, decision: { do: 'interrupt' } },
    {
      name: 'the command may save before it ends',
      when: { command: 'given', end: 'not awaited' },
      decision: { do: 'save' },
    },
    {
      name: 'the command had ended by itself',
      when: { command: 'given', end: ['own exit', 'later attempt', 'ended before'] },
      decision: { do: 'believe end' },
    },
    {
      name: 'an exit that was asked for, or none',
      when: { command: 'given', end: ['no news', 'answer to the stop', 'lost'] },
      decision: { do: 'interrupt' },
    },
  ],
};

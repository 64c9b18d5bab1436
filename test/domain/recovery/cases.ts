import type { Budget } from '../../../domain/recovery/budgets.js';
import type { Decisions } from '../../../domain/recovery/decisions.js';
import type { Facts, Question } from '../../../domain/recovery/facts.js';

/** The dullest facts of each question. */
export const DULL = {
  'slice seen': { look: 'directly', condition: 'ready' },
  'host silent': {
    sign: 'stale',
    others: 'answer, with fresh signs',
    silence: 'within timeouts.unreachable',
    node: 'not looked at',
  },
  'command ended': { hosts: 'code 0', slices: 'not looked at' },
  'worker failed': { error: 'may pass', errors: 'few' },
  'set-up interrupted': { by: 'person', end: 'not awaited' },
  'command interrupted': { by: 'person', command: 'given', end: 'not awaited' },
  'step due': { lease: 'stands', request: 'none', command: 'ended', holds: 'lease and all slices' },
  'not ready': {
    because: 'preempted',
    zones: 'none',
    refusals: 'few',
    command: 'never ran',
    preemption: 'left',
    infrastructure: 'left',
  },
  'attempt ended': {
    end: 'code 0',
    lease: 'stands',
    restart: 'not asked for',
    loop: 'none',
    preemption: 'left',
    infrastructure: 'left',
    task: 'left',
    requested: 'left',
  },
} as const satisfies { [Q in Question]: Facts<Q> };

type Case<Q extends Question> = readonly [facts: Partial<Facts<Q>>, want: Decisions[Q], row: string];
const KEEP = { do: 'keep' } as const;
const LOOK_AT_NODE = { do: 'look at node' } as const;
const AGAIN = 'directly, a second time';
const retry = (budget: Budget, replace: 'nothing' | 'lost slices' | 'its slice') =>
  ({ do: 'retry', budget, replace }) as const;
const fail = (by: Budget) => ({ do: 'fail', by }) as const;
const spent = (by: Budget) => ({ do: 'fail', by, spent: true }) as const;
const loss = (cause: 'preempted' | 'failed') => ({ do: 'report loss', cause }) as const;

/** One case per row: facts as a person would tell them, and what is to be done. Facts that are left out are the dull ones. */
export const CASES: { readonly [Q in Question]: readonly Case<Q>[] } = {
  'slice seen': [
    [{ condition: 'waiting' }, KEEP, 'the slice is there'],
    [{ condition: 'no answer' }, KEEP, 'an API that does not answer is no evidence'],
    [{ look: 'in the listing', condition: 'missing' }, { do: 'look directly' }, 'a listing may lag behind'],
    [{ condition: 'missing' }, { do: 'wait, look again' }, 'one NOT_FOUND is no evidence'],
    [{ condition: 'wrong host key' }, { do: 'wait, look again' }, 'a host key of another machine, once'],
    [{ look: AGAIN, condition: 'wrong host key' }, loss('failed'), 'a host key of another machine, twice and apart'],
    [{ look: AGAIN, condition: 'missing' }, loss('preempted'), 'NOT_FOUND, twice and apart'],
    [{ condition: 'preempted' }, loss('preempted'), 'the API says that it was preempted'],
    [{ look: AGAIN, condition: 'failed' }, loss('failed'), 'the API says that it failed'],
    [{ condition: 'deleting' }, loss('failed'), 'the slice is being deleted'],
    [{ condition: 'foreign' }, loss('failed'), 'its name belongs to another resource'],
  ],
  'host silent': [
    [{ sign: 'fresh', silence: 'longer', node: 'ready' }, KEEP, 'its sign of life is renewed: it lives'],
    [{ sign: 'store silent', silence: 'longer', node: 'ready' }, KEEP, 'a store that does not answer is no evidence'],
    [
      { sign: 'never', others: 'silent', silence: 'longer', node: 'ready' },
      KEEP,
      'no sign, and nobody answers: it may be the route',
    ],
    [{ sign: 'never', node: 'ready' }, KEEP, 'no sign, for a while'],
    [{ others: 'answer', node: 'ready' }, KEEP, 'a stale sign beside which none is renewed, for a while'],
    [{}, LOOK_AT_NODE, 'its sign alone went stale'],
    [{ sign: 'never', others: 'answer', silence: 'longer' }, LOOK_AT_NODE, 'no sign for too long'],
    [{ others: 'silent', silence: 'longer' }, LOOK_AT_NODE, 'a stale sign for too long'],
    [{ silence: 'longer', node: 'no word' }, KEEP, 'its sign alone went stale; no word of the API'],
    [{ sign: 'never', silence: 'longer', node: 'no word' }, KEEP, 'no sign for too long; no word of the API'],
    [{ others: 'answer', silence: 'longer', node: 'no word' }, KEEP, 'a stale sign for too long; no word of the API'],
    [{ node: 'warned' }, KEEP, 'the provider warns of the node, for a while'],
    [{ silence: 'longer', node: 'warned' }, loss('failed'), 'the provider warns of the node for too long'],
    [{ node: 'ready' }, loss('failed'), 'it is dead: its sign alone went stale, and the node is READY'],
    [
      { sign: 'never', others: 'answer', silence: 'longer', node: 'warned' },
      loss('failed'),
      'it counts as dead: no sign for too long, while others answer',
    ],
    [
      { others: 'silent', silence: 'longer', node: 'ready' },
      loss('failed'),
      'it counts as dead: a stale sign for too long',
    ],
  ],
  'command ended': [
    [{}, { do: 'report end' }, 'code 0, and every host was up and not preempted as it ended'],
    [
      { hosts: 'code 0, unwitnessed' },
      { do: 'look at slices', patience: 'shutdown' },
      'code 0, and a host cannot say how it was',
    ],
    [
      { hosts: 'code 0, told to end' },
      { do: 'look at slices', patience: 'none' },
      'code 0 of a command that was told to end may come with a loss',
    ],
    [
      { hosts: 'code 0, unwitnessed', slices: 'there' },
      { do: 'report end' },
      'code 0, and nothing was seen that speaks against it',
    ],
    [{ hosts: 'code 0, told to end', slices: 'lost' }, { do: 'report loss' }, 'code 0, and the slices were taken'],
    [
      { hosts: 'preempted' },
      { do: 'report preemption' },
      'a host was preempted as the command ended, with whatever code',
    ],
    [
      { hosts: 'shutting down' },
      { do: 'look at slices', patience: 'shutdown' },
      'a host shut down as the command ended, with whatever code',
    ],
    [{ hosts: 'shutting down', slices: 'lost' }, { do: 'report loss' }, 'a host shut down with its slice'],
    [
      { hosts: 'shutting down', slices: 'there' },
      { do: 'report lost run' },
      'a host shut down, and its slice is there',
    ],
    [{ hosts: 'run lost' }, { do: 'report end' }, 'a host lost the run'],
    [{ hosts: 'later attempt' }, { do: 'report end' }, 'a host knows of a later attempt'],
    [{ hosts: 'failed' }, { do: 'look at slices', patience: 'none' }, 'a failure may be the first sign of a loss'],
    [
      { hosts: 'ended by a signal of others' },
      { do: 'look at slices', patience: 'shutdown' },
      'a signal of others may be a shutdown',
    ],
    [{ hosts: 'silent' }, { do: 'look at slices', patience: 'none' }, 'hosts that are taken away cannot print'],
    [{ hosts: 'failed', slices: 'there' }, { do: 'report end' }, 'the command failed on slices that are there'],
    [{ hosts: 'silent', slices: 'lost' }, { do: 'report loss' }, 'the command failed with its slices'],
  ],
  'worker failed': [
    [
      { error: 'worker is gone', errors: 'too many' },
      { do: 'other worker', pause: false },
      'a worker went away: the command does not notice',
    ],
    [{}, { do: 'other worker', pause: true }, 'an error that may pass'],
    [{ errors: 'too many' }, { do: 'end attempt' }, 'errors again and again'],
    [{ error: 'final' }, { do: 'end attempt' }, 'an error that no retry mends'],
  ],
  'set-up interrupted': [
    [{ by: 'pool' }, { do: 'interrupt' }, 'its slices go: nobody waits for the set-up'],
    [{ by: 'clock' }, { do: 'save' }, 'its slices stay: the set-up is ended first'],
    [{ end: 'slices lost' }, { do: 'believe end' }, 'evidence counts, whoever asked for the end'],
    [{ by: 'clock', end: 'ready' }, { do: 'believe end' }, 'its time ran out as it ended by itself'],
    [{ end: 'ready' }, { do: 'interrupt' }, 'a person asked: what the set-up came to does not count'],
    [{ by: 'clock', end: 'handed over' }, { do: 'interrupt' }, 'its time is over'],
  ],
  'command interrupted': [
    [{ command: 'none' }, { do: 'interrupt' }, 'there is no command to stop'],
    [{ by: 'pool' }, { do: 'save' }, 'the command may save before it ends'],
    [{ by: 'pool', end: 'own exit' }, { do: 'believe end' }, 'the command had ended by itself'],
    [{ by: 'pool', end: 'answer to the stop' }, { do: 'interrupt' }, 'an exit that was asked for, or none'],
  ],
  'step due': [
    [
      { lease: 'revoked', request: 'stop', command: 'may run' },
      { do: 'save' },
      'the pool revoked the lease of a running command',
    ],
    [{ request: 'restart', command: 'may run' }, { do: 'save' }, 'a person interrupts a running command'],
    [{ lease: 'revoked' }, { do: 'give back', to: 'pool', next: 'ask again' }, 'the lease is revoked'],
    [
      { lease: 'revoked', request: 'stop' },
      { do: 'give back', to: 'pool', next: 'rest' },
      'the lease of a stopped job is revoked',
    ],
    [{ request: 'restart' }, { do: 'start anew' }, 'a restart'],
    [{ request: 'requeue' }, { do: 'give back', to: 'person', next: 'ask again' }, 'a requeue'],
    [{ request: 'requeue', holds: 'nothing' }, { do: 'start anew' }, 'a requeue of a job that holds nothing'],
    [{ request: 'stop' }, { do: 'pause' }, 'a stop keeps a whole gang'],
    [
      { request: 'stop', holds: 'lease' },
      { do: 'give back', to: 'person', next: 'rest' },
      'a stop keeps no part of a gang',
    ],
    [{ request: 'stop --release' }, { do: 'give back', to: 'person', next: 'rest' }, 'a stop with --release'],
    [{ request: 'stop', holds: 'nothing' }, { do: 'rest' }, 'a stop of a job that holds nothing'],
    [{ holds: 'lease' }, { do: 'use lease' }, 'nobody wants anything, and the lease is held'],
    [{ holds: 'something' }, { do: 'wait for lease' }, 'nobody wants anything, and there is no lease'],
  ],
  'not ready': [
    [{ infrastructure: 'spent' }, retry('preemption', 'lost slices'), 'a slice was preempted by the provider'],
    [{ preemption: 'spent' }, spent('preemption'), 'a slice was preempted, and the budget is spent'],
    [{ because: 'failed', preemption: 'spent' }, retry('infrastructure', 'lost slices'), 'a slice failed'],
    [
      { because: 'failed', infrastructure: 'spent' },
      spent('infrastructure'),
      'a slice failed, and the budget is spent',
    ],
    [{ because: 'late', infrastructure: 'spent' }, { do: 'next zone' }, 'timeouts.provision is over'],
    [
      { because: 'zone refused', infrastructure: 'spent', preemption: 'spent' },
      { do: 'next zone' },
      'the zone has no capacity or quota',
    ],
    [
      { because: 'refused for a moment', infrastructure: 'spent' },
      { do: 'ask again' },
      'the cloud refuses for a moment',
    ],
    [
      { because: 'refused for a moment', refusals: 'many' },
      { do: 'next zone' },
      'the moment does not pass in this zone',
    ],
    [
      { because: 'installation refused', infrastructure: 'spent', refusals: 'many' },
      { do: 'ask again' },
      'the installation lacks rights',
    ],
    [
      { because: 'request refused', zones: 'left', infrastructure: 'spent' },
      { do: 'next zone' },
      'another zone may accept what this one refuses',
    ],
    [{ because: 'request refused' }, fail('infrastructure'), 'every zone refuses the request of a job that never ran'],
    [
      { because: 'request refused', command: 'ran before', infrastructure: 'spent' },
      { do: 'next zone' },
      'every zone refuses what was accepted before',
    ],
    [
      { because: 'zone refused for good', infrastructure: 'spent' },
      { do: 'next zone' },
      'every zone refuses, for a reason that may pass',
    ],
    [{ because: 'lease lost' }, { do: 'ask for lease' }, 'the lease does not stand'],
    [{ because: 'queue time over' }, fail('infrastructure'), 'timeouts.queue is over'],
  ],
  'attempt ended': [
    [{ end: 'unwatched', lease: 'revoked' }, KEEP, 'nothing has ended'],
    [{ end: 'interrupted' }, KEEP, 'the pool or a person interrupted it'],
    [{ end: 'slices preempted', lease: 'revoked' }, KEEP, 'slices were lost that had to go anyway'],
    [
      { end: 'run duration over', restart: 'asked for', preemption: 'spent', infrastructure: 'spent' },
      { do: 'replace' },
      'the run duration of its slices is over',
    ],
    [
      { end: 'slices preempted', restart: 'asked for', infrastructure: 'spent', task: 'spent' },
      retry('preemption', 'lost slices'),
      'slices were preempted by the provider',
    ],
    [
      { end: 'slices preempted', preemption: 'spent' },
      spent('preemption'),
      'slices were preempted, and the budget is spent',
    ],
    [{ end: 'slices failed', preemption: 'spent' }, retry('infrastructure', 'lost slices'), 'slices failed'],
    [
      { end: 'slices failed', infrastructure: 'spent' },
      spent('infrastructure'),
      'slices failed, and the budget is spent',
    ],
    [{ end: 'ended before', restart: 'asked for' }, { do: 'stored outcome' }, 'the store has its outcome already'],
    [{ restart: 'asked for' }, KEEP, 'a restart was accepted, whatever the attempt came to'],
    [{ task: 'spent' }, { do: 'succeed' }, 'the command is done'],
    [{ end: 'given back', lease: 'revoked', task: 'spent' }, { do: 'succeed' }, 'a workspace is given back'],
    [{ loop: 'again', task: 'spent' }, { do: 'loop' }, 'a command that loops has ended'],
    [
      { end: 'another code', loop: 'gives up' },
      { ...fail('task'), loop: true },
      'a command that loops ends at once, again and again',
    ],
    [{ end: 'silent' }, retry('task', 'nothing'), 'the command failed, ran for too long or was silent'],
    [{ end: 'another code', task: 'spent' }, fail('task'), 'the command failed, and the budget is spent'],
    [
      { end: 'machine at fault', task: 'spent' },
      retry('infrastructure', 'its slice'),
      'the command failed, and its machine is at fault',
    ],
    [
      { end: 'machine at fault', infrastructure: 'spent' },
      retry('task', 'nothing'),
      'a machine is at fault, and only the command may be repeated',
    ],
    [
      { end: 'machine at fault', infrastructure: 'spent', task: 'spent' },
      fail('task'),
      'a machine is at fault, and no budget is left',
    ],
    [
      { end: 'restart code', task: 'spent', infrastructure: 'spent' },
      retry('requested', 'nothing'),
      'the command asks for another start by its exit code',
    ],
    [
      { end: 'restart code', requested: 'spent' },
      spent('requested'),
      'the command asks for another start, and the budget is spent',
    ],
    [{ end: 'set-up time over' }, fail('task'), 'timeouts.setup is over'],
    [{ end: 'module failed' }, fail('task'), 'a module fails'],
    [{ end: 'run lost', loop: 'again' }, retry('infrastructure', 'nothing'), 'a host lost the run'],
    [{ end: 'host bad' }, retry('infrastructure', 'its slice'), 'a host cannot be set up'],
    [{ end: 'host bad', infrastructure: 'spent' }, spent('infrastructure'), 'a host failed, and the budget is spent'],
    [{ end: 'worker failed' }, retry('infrastructure', 'nothing'), 'workers report errors again and again'],
    [
      { end: 'worker failed', infrastructure: 'spent' },
      spent('infrastructure'),
      'workers report errors again and again, and the budget is spent',
    ],
  ],
};

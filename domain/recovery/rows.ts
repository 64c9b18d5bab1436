import type { Budget } from './budgets.js';
import type { Fact, FACTS, Question } from './facts.js';

/** What a job, or its worker, does next. Each question has decisions of its own. */
export interface Decisions {
  'slice seen':
    | { readonly do: 'keep' }
    | { readonly do: 'look directly' }
    | { readonly do: 'wait, look again' }
    | { readonly do: 'report loss'; readonly cause: 'preempted' | 'failed' };
  'command ended':
    | { readonly do: 'look at slices'; readonly patience: 'none' | 'shutdown' }
    | { readonly do: 'report end' }
    /** The guard of the slices reports it. */
    | { readonly do: 'report loss' }
    /** Of the slices whose hosts said so. */
    | { readonly do: 'report preemption' }
    | { readonly do: 'report lost run' };
  'worker failed': { readonly do: 'other worker'; readonly pause: boolean } | { readonly do: 'end attempt' };
  'set-up interrupted': Interruption;
  'command interrupted': Interruption;
  'step due':
    | { readonly do: 'use lease' }
    | { readonly do: 'wait for lease' }
    | { readonly do: 'save' }
    | { readonly do: 'give back'; readonly to: 'pool' | 'person'; readonly next: 'ask again' | 'rest' }
    | { readonly do: 'pause' }
    | { readonly do: 'rest' }
    | { readonly do: 'start anew' };
  'not ready':
    | Retry
    | Failure
    | { readonly do: 'next zone' }
    /** With a pause that doubles; the slices that are there stay. */
    | { readonly do: 'ask again' }
    | { readonly do: 'ask for lease' };
  'attempt ended':
    | { readonly do: 'keep' }
    | { readonly do: 'succeed' }
    | { readonly do: 'stored outcome' }
    | { readonly do: 'loop' }
    | Retry
    | Failure;
}

type Interruption =
  /** Stopped with notice and grace, and its end is awaited. */
  | { readonly do: 'save' }
  /** Its own end counts. */
  | { readonly do: 'believe end' }
  | { readonly do: 'interrupt' };

/** Another try, paid by a budget, after these slices were replaced. `all, next zone`: a gang lies in one zone. */
interface Retry {
  readonly do: 'retry';
  readonly budget: Budget;
  readonly replace: 'nothing' | 'lost slices' | 'its slice' | 'all, next zone';
}
interface Failure {
  readonly do: 'fail';
  readonly by: Budget;
  /** The budget `by` is spent; otherwise no retry would help, or none is allowed. */
  readonly spent?: true;
  /** A command that loops gave up. */
  readonly loop?: true;
}

/** Facts that a row is about; it is about every value of a fact that it does not name. */
export type When<Q extends Question> = {
  readonly [Name in keyof (typeof FACTS)[Q]]?: Fact<Q, Name> | readonly Fact<Q, Name>[];
};

export interface Row<Q extends Question> {
  readonly name: string;
  readonly when: When<Q>;
  readonly decision: Decisions[Q];
}

const lost = (cause: 'preempted' | 'failed') => ({ do: 'report loss', cause }) as const;
const retry = (budget: Budget, replace: Retry['replace']) => ({ do: 'retry', budget, replace }) as const;
const failed = (by: Budget) => ({ do: 'fail', by }) as const;
const outOf = (by: Budget) => ({ do: 'fail', by, spent: true }) as const;

const EVIDENCE = ['preempted', 'failed', 'deleting', 'missing', 'foreign', 'wrong host key'] as const;
const DIRECT = ['directly', 'directly, a second time'] as const;
/** Ends that a repeated command may mend, on the task's account. */
const OF_THE_TASK = ['another code', 'run time over', 'silent'] as const;
/** Refusals that repeating alone does not end. */
const LASTING = ['zone refused for good', 'request refused', 'refused, unknown'] as const;
const RUNS = { lease: 'stands', command: 'ended' } as const;
const NO_RESTART = { restart: 'not asked for' } as const;

/** All rules. docs/recovery.md is written from them (scripts/write-recovery.ts). */
export const ROWS: { readonly [Q in Question]: readonly Row<Q>[] } = {
  'slice seen': [
    { name: 'the slice is there', when: { condition: ['ready', 'waiting'] }, decision: { do: 'keep' } },
    { name: 'an API that does not answer is no evidence', when: { condition: 'no answer' }, decision: { do: 'keep' } },
    {
      name: 'a listing may lag behind',
      when: { look: 'in the listing', condition: EVIDENCE },
      decision: { do: 'look directly' },
    },
    {
      name: 'one NOT_FOUND is no evidence',
      when: { look: 'directly', condition: 'missing' },
      decision: { do: 'wait, look again' },
    },
    // An address may have gone to another machine before the API says so (marin#6450); nothing is sent to that one.
    {
      name: 'a host key of another machine, once',
      when: { look: 'directly', condition: 'wrong host key' },
      decision: { do: 'wait, look again' },
    },
    {
      name: 'a host key of another machine, twice and apart',
      when: { look: 'directly, a second time', condition: 'wrong host key' },
      decision: lost('failed'),
    },
    // Google does not promise to say PREEMPTED (facts/cloud-tpu.md 1.4): a spot slice that vanished was taken.
    {
      name: 'NOT_FOUND, twice and apart',
      when: { look: 'directly, a second time', condition: 'missing' },
      decision: lost('preempted'),
    },
    {
      name: 'the API says that it was preempted',
      when: { look: DIRECT, condition: 'preempted' },
      decision: lost('preempted'),
    },
    { name: 'the API says that it failed', when: { look: DIRECT, condition: 'failed' }, decision: lost('failed') },
    { name: 'the slice is being deleted', when: { look: DIRECT, condition: 'deleting' }, decision: lost('failed') },
    {
      name: 'its name belongs to another resource',
      when: { look: DIRECT, condition: 'foreign' },
      decision: lost('failed'),
    },
  ],
  'command ended': [
    // A claim that each host bears out, of a moment before whatever the API says next (docs/adr/0040).
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
    // A VM that is taken away ends its processes first; its node was seen READY for some more seconds.
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
  'not ready': [
    {
      name: 'a slice was preempted by the provider',
      when: { because: 'preempted', preemption: 'left' },
      decision: retry('preemption', 'lost slices'),
    },
    {
      name: 'a slice was preempted, and the budget is spent',
      when: { because: 'preempted', preemption: 'spent' },
      decision: outOf('preemption'),
    },
    {
      name: 'a slice failed',
      when: { because: 'failed', infrastructure: 'left' },
      decision: retry('infrastructure', 'lost slices'),
    },
    // A stall of one zone says nothing of another. The whole gang leaves it.
    {
      name: 'timeouts.provision is over',
      when: { because: 'late', infrastructure: 'left' },
      decision: retry('infrastructure', 'all, next zone'),
    },
    {
      name: 'a slice failed or is late, and the budget is spent',
      when: { because: ['failed', 'late'], infrastructure: 'spent' },
      decision: outOf('infrastructure'),
    },
    // Nobody's fault, and it passes: no budget pays, and no number of refusals is final.
    { name: 'the zone has no capacity or quota', when: { because: 'zone refused' }, decision: { do: 'next zone' } },
    {
      name: 'the cloud refuses for a moment',
      when: { because: 'refused for a moment', refusals: 'few' },
      decision: { do: 'ask again' },
    },
    {
      name: 'the moment does not pass in this zone',
      when: { because: 'refused for a moment', refusals: 'many' },
      decision: { do: 'next zone' },
    },
    // A person ends it, at any time: rights, credentials, billing.
    {
      name: 'the installation lacks rights',
      when: { because: 'installation refused' },
      decision: { do: 'ask again' },
    },
    {
      name: 'another zone may accept what this one refuses',
      when: { because: LASTING, zones: 'left' },
      decision: { do: 'next zone' },
    },
    {
      name: 'every zone refuses the request of a job that never ran',
      when: { because: 'request refused', zones: 'none', command: 'never ran' },
      decision: failed('infrastructure'),
    },
    {
      name: 'every zone refuses what was accepted before',
      when: { because: 'request refused', zones: 'none', command: 'ran before', infrastructure: 'left' },
      decision: retry('infrastructure', 'all, next zone'),
    },
    {
      name: 'every zone refuses, for a reason that may pass',
      when: { because: ['zone refused for good', 'refused, unknown'], zones: 'none', infrastructure: 'left' },
      decision: retry('infrastructure', 'all, next zone'),
    },
    {
      name: 'every zone refuses a job that never ran, and the budget is spent',
      when: {
        because: ['zone refused for good', 'refused, unknown'],
        zones: 'none',
        command: 'never ran',
        infrastructure: 'spent',
      },
      decision: outOf('infrastructure'),
    },
    {
      name: 'every zone refuses a job that ran before, and the budget is spent',
      when: { because: LASTING, zones: 'none', command: 'ran before', infrastructure: 'spent' },
      decision: { do: 'next zone' },
    },
    { name: 'the lease does not stand', when: { because: 'lease lost' }, decision: { do: 'ask for lease' } },
    { name: 'timeouts.queue is over', when: { because: 'queue time over' }, decision: failed('infrastructure') },
  ],
  'attempt ended': [
    { name: 'nothing has ended', when: { end: 'unwatched' }, decision: { do: 'keep' } },
    { name: 'the pool or a person interrupted it', when: { end: 'interrupted' }, decision: { do: 'keep' } },
    {
      name: 'slices were lost that had to go anyway',
      when: { end: ['slices preempted', 'slices failed'], lease: 'revoked' },
      decision: { do: 'keep' },
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
    // Temporal was set back by a restore or a reset.
    { name: 'the store has its outcome already', when: { end: 'ended before' }, decision: { do: 'stored outcome' } },
    {
      name: 'a restart was accepted, whatever the attempt came to',
      when: {
        end: ['code 0', ...OF_THE_TASK, 'set-up time over', 'run lost', 'module failed', 'host bad', 'worker failed'],
        restart: 'asked for',
      },
      decision: { do: 'keep' },
    },
    { name: 'the command is done', when: { end: 'code 0', ...NO_RESTART, loop: 'none' }, decision: { do: 'succeed' } },
    {
      name: 'a command that loops has ended',
      when: { end: ['code 0', ...OF_THE_TASK], ...NO_RESTART, loop: 'again' },
      decision: { do: 'loop' },
    },
    {
      name: 'a command that loops ends at once, again and again',
      when: { end: ['code 0', ...OF_THE_TASK], ...NO_RESTART, loop: 'gives up' },
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
    // The hosts are as they were, and so is a command that runs: the next attempt ends it before it begins.
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

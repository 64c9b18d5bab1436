import type { Condition, RefusalScope } from '../slice.js';

/**
 * The facts from which a job decides how it continues (docs/design.md, "Every end is the true end"; docs/adr/0034). Each fact
 * has few values, so that all combinations can be listed: each combination of a question has exactly one row in `ROWS`.
 */
export const FACTS = {
  /** A worker has looked at a slice that is ready for an attempt. */
  'slice seen': {
    look: ['in the listing', 'directly', 'directly, a second time'],
    /** `no answer`: the call failed. `failed` covers every loss that is not a preemption. */
    condition: [
      'ready',
      'waiting',
      'no answer',
      'preempted',
      'failed',
      'deleting',
      'missing',
      'foreign',
      /** The slice exists, and one of its addresses shows another machine's host key. */
      'wrong host key',
    ],
  },
  /** A host has not answered for a while. Its slice was not seen lost. */
  'host silent': {
    /** The host's own sign of life in the store. `never`: it has none, or has not shown that it may renew it. */
    sign: ['fresh', 'stale', 'never', 'store silent'],
    /** Other hosts on the same route, of any job. */
    others: ['silent', 'answer', 'answer, with fresh signs'],
    silence: ['within timeouts.unreachable', 'longer'],
    /** The API's answer. `no word`: no answer, or a state other than READY, which the rules of `slice seen` judge. */
    node: ['not looked at', 'ready', 'warned', 'no word'],
  },
  /** A worker knows how the command ended on the hosts, or that no host has printed anything for `timeouts.no_output`. */
  'command ended': {
    hosts: [
      'code 0',
      'code 0, unwitnessed',
      'code 0, told to end',
      'failed',
      'ended by a signal of others',
      'shutting down',
      'preempted',
      'run lost',
      'later attempt',
      'silent',
    ],
    slices: ['not looked at', 'there', 'lost'],
  },
  /** An activity on the claimed worker of an attempt has failed. */
  'worker failed': {
    error: ['worker is gone', 'may pass', 'final'],
    errors: ['few', 'too many'],
  },
  /** The set-up of an attempt must end before its time. */
  'set-up interrupted': {
    by: ['pool', 'person', 'clock'],
    end: ['not awaited', 'no news', 'ready', 'failed', 'handed over', 'slices lost', 'ended before'],
  },
  /** The command of an attempt must end before its time. */
  'command interrupted': {
    by: ['pool', 'person', 'clock', 'silence'],
    command: ['given', 'none'],
    end: ['not awaited', 'no news', 'own exit', 'answer to the stop', 'later attempt', 'ended before', 'lost'],
  },
  /** Between two steps of a job: requests of its pool and of people. */
  'step due': {
    lease: ['stands', 'revoked'],
    request: ['none', 'stop', 'stop --release', 'requeue', 'restart'],
    /** `may run`: the command may run on slices that are all ready, so it can be stopped. */
    command: ['may run', 'ended'],
    /** `something`: remaining slices or a place in line, but no lease that is held. */
    holds: ['lease and all slices', 'lease', 'something', 'nothing'],
  },
  /** The job waits, without a lease or without all of its slices. */
  'not ready': {
    /** For a refusal: its scope (`RefusalScope`). */
    because: [
      'preempted',
      'failed',
      'late',
      'zone refused',
      'zone refused for good',
      'refused for a moment',
      'installation refused',
      'refused, a right',
      'request refused',
      'refused, unknown',
      'lease lost',
      'queue time over',
    ],
    /**
     * Zones of the job that have not refused it since all its slices were last ready. If the refusal calls the request itself
     * wrong: zones that have not called it wrong.
     */
    zones: ['left', 'none'],
    /** Refusals in this zone, in a row. */
    refusals: ['few', 'many'],
    command: ['never ran', 'ran before'],
    preemption: ['left', 'spent'],
    infrastructure: ['left', 'spent'],
  },
  /** An attempt has ended, or no worker watches it at the moment. */
  'attempt ended': {
    end: [
      'unwatched',
      'interrupted',
      'slices preempted',
      'slices failed',
      'ended before',
      'code 0',
      'another code',
      /** Another code, with evidence that the machine is at fault (broken-machine.ts). */
      'machine at fault',
      /** One of `command.restart_on`. */
      'restart code',
      'run time over',
      /** The run duration of slices that were bought for a time is over. Their command was told to save before. */
      'run duration over',
      /** A workspace that nobody uses, or whose time is over. */
      'given back',
      'silent',
      'set-up time over',
      'run lost',
      'module failed',
      'host bad',
      'worker failed',
    ],
    lease: ['stands', 'revoked'],
    restart: ['asked for', 'not asked for'],
    loop: ['none', 'again', 'gives up'],
    preemption: ['left', 'spent'],
    infrastructure: ['left', 'spent'],
    task: ['left', 'spent'],
    requested: ['left', 'spent'],
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

export type Question = keyof typeof FACTS;
export type Fact<
  Q extends Question,
  Name extends keyof (typeof FACTS)[Q],
> = (typeof FACTS)[Q][Name] extends readonly (infer Value)[] ? Value : never;
export type Facts<Q extends Question> = { readonly [Name in keyof (typeof FACTS)[Q]]: Fact<Q, Name> };

/** A slice that positive evidence shows to be unusable. */
export interface LostSlice {
  readonly index: number;
  /** The budget that pays: that for preemptions, or that for the infrastructure. */
  readonly cause: 'preempted' | 'failed';
  readonly message: string;
}

/** The scope of a refusal as a fact for `decide`. */
export const REFUSALS = {
  request: 'request refused',
  zone: 'zone refused',
  'zone-lasting': 'zone refused for good',
  moment: 'refused for a moment',
  installation: 'installation refused',
  permission: 'refused, a right',
  unknown: 'refused, unknown',
} as const satisfies Record<RefusalScope, Fact<'not ready', 'because'>>;

/** Result of a look at a slice, as a fact for `decide`. A `seen` of undefined means that the call failed. */
export function conditionFact(seen: Condition | undefined): Fact<'slice seen', 'condition'> {
  if (seen === undefined) return 'no answer';
  if (seen.kind !== 'lost') return seen.kind;
  return seen.cause === 'preempted' ? 'preempted' : 'failed';
}

/** The reason, in words, why a slice in this condition is lost. */
export function lossText(seen: Condition): string {
  switch (seen.kind) {
    case 'lost':
    case 'foreign':
      return seen.message;
    case 'missing':
      return 'the node is gone (NOT_FOUND, twice)';
    case 'deleting':
      return 'the slice is being deleted';
    case 'ready':
    case 'waiting':
      throw new TypeError(`a slice that is '${seen.kind}' is not lost`);
  }
}

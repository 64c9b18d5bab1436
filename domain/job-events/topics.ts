import type { Reaction } from './causes.js';
import type { Cause, EventKind, Told } from './kinds.js';

interface Topic {
  /** Completes "tell me when ..". */
  readonly when: string;
  readonly kinds: readonly EventKind[];
  /** Reactions of the job that make an event of any kind part of the topic. */
  readonly reactions?: readonly Reaction['do'][];
}

/**
 * Topics of `notify`, named for people (docs/notify.md). A topic that has the name of a kind includes that kind. A kind that
 * repeats a cause, such as `backoff`, belongs to the topics of that cause too.
 */
export const TOPICS = {
  queued: { when: 'it waits for its pool, or for other jobs', kinds: ['queued', 'awaiting-others'] },
  started: { when: 'its command has started, in each attempt', kinds: ['running'] },
  refused: { when: 'a cloud refused its slices, or was too slow', kinds: ['refused', 'slice-late', 'zone-lost'] },
  preempted: {
    when: 'the provider or its pool took its slices, or their run duration is over',
    kinds: ['preempted', 'preempted-by-quota', 'lease-taken', 'run-duration-over'],
  },
  lost: {
    when: 'it lost slices, hosts or its lease otherwise',
    kinds: ['slice-lost', 'slice-failed', 'lease-lost', 'lease-returned', 'host-bad', 'run-lost'],
  },
  retried: { when: 'it tries again, whatever the cause', kinds: [], reactions: ['retry', 'loop'] },
  stuck: {
    when: 'it makes no progress: a silent command, hosts that do not answer, a timeout',
    kinds: [
      'no-output',
      'hosts-silent',
      'hosts-unreachable',
      'accelerator-awaited',
      'store-trouble',
      'set-up-late',
      'set-up-timed-out',
      'run-late',
      'run-timed-out',
    ],
  },
  asked: {
    when: 'a person changed it: stop, requeue, restart, edit, priority, set-up',
    kinds: ['stopped', 'requeued', 'restarted', 'edited', 'priority-changed', 'set-up-requested'],
  },
  idle: {
    when: 'a workspace is idle, about to be given back, or cannot be watched',
    kinds: ['workspace-use', 'given-back'],
  },
  'over-budget': { when: 'it has cost more than its max_cost', kinds: ['over-budget'] },
  paused: { when: 'it stopped and waits for a person', kinds: ['paused', 'pause-ended', 'released'] },
  resumed: { when: 'a person resumed it', kinds: ['resumed'] },
  saved: { when: 'outputs were stored, or brought back', kinds: ['saved', 'restored'] },
  succeeded: { when: 'it succeeded', kinds: ['succeeded'] },
  failed: { when: 'it failed', kinds: ['failed'] },
  cancelled: { when: 'it was cancelled', kinds: ['cancelled'] },
  ended: { when: 'it ended, in any way', kinds: ['succeeded', 'failed', 'cancelled'] },
} as const satisfies Readonly<Record<string, Topic>>;

export type TopicName = keyof typeof TOPICS;

/** Topics of a rule that names none. */
export const DEFAULT_TOPICS = ['ended'] as const satisfies readonly TopicName[];

/** Kinds that are details of another event: told only to those who name the kind. */
export const BY_NAME_ALONE = [
  'accepted',
  'building-image',
  'image-build-joined',
  'image-progress',
  'image-built',
  'inputs-found',
  'inputs-not-read',
  'provisioning',
  'backoff',
  'zone-asked',
  'no-room-beside',
  'no-room',
  'moved',
  'zone-given-up',
  'put-aside-failed',
  'setting-up',
  'hosts-renumbered',
  'set-up-not-ended',
  'set-up-awaited',
  'requested-set-up-done',
  'requested-set-up-failed',
  'requested-set-up-cut',
  'attempt-found',
  'worker-lost',
  'worker-error',
  'worker-failed',
  'module-failed',
  'exited',
  'interrupted',
  'ended-before',
  'stacks-stored',
  'stop-failed',
  'processes-left',
  'last-lines-late',
  'last-lines-lost',
  'record-not-stored',
  'finishing',
  'hook-started',
  'hook-ended',
  'lodged',
  'lent',
  'holding-ended',
] as const satisfies readonly EventKind[];

/**
 * Kinds that are never told. Notices about notices would never end. `submitted` happens before anything can be told, and
 * `outcome-not-stored` after the job's end is told. `holding` and the first
 * `lending` are told as the job's end.
 */
export const NEVER_TOLD = [
  'note',
  'submitted',
  'holding',
  'lending',
  'outcome-not-stored',
  'notified',
  'not-notified',
  'notices-left',
  'notify-test',
] as const satisfies readonly EventKind[];

const topicNames = Object.keys(TOPICS) as TopicName[];

/** Every word that `on` takes: the topics first. */
export const TOPIC_WORDS: readonly string[] = [
  ...new Set([
    ...topicNames,
    ...Object.values(TOPICS).flatMap(({ kinds }): readonly string[] => kinds),
    ...BY_NAME_ALONE,
  ]),
];

/**
 * Events of AXLearn's Bastion (axlearn/cloud/common/bastion.py, `JobLifecycleState`, 2026-11) -> the topic or kind that tells of
 * the same. Bastion names a cancel when it begins; jobctl tells it when the job has ended.
 */
export const BASTION_EVENTS: Readonly<Record<string, string>> = {
  QUEUED: 'queued',
  STARTING: 'provisioning',
  RUNNING: 'started',
  PREEMPTING: 'preempted',
  RESCHEDULING: 'lease-taken',
  UPDATING: 'edited',
  CANCELLING: 'cancelled',
  CLEANING: 'finishing',
  FAILED: 'failed',
  SUCCEEDED: 'succeeded',
  COMPLETED: 'ended',
};

/** Returns whether a rule with these topics is told of the event. */
export function isTold(on: readonly string[], told: Told): boolean {
  const kinds = kindsIn(told);
  const reaction = 'reaction' in told.facts ? told.facts.reaction?.do : undefined;
  return on.some((word) => {
    if (!isTopic(word)) return kinds.some((kind) => kind === word);
    const topic: Topic = TOPICS[word];
    const isReaction = reaction !== undefined && topic.reactions?.includes(reaction) === true;
    return isReaction || kinds.some((kind) => topic.kinds.includes(kind));
  });
}

const isTopic = (word: string): word is TopicName => Object.hasOwn(TOPICS, word);

/** The event's kind, and that of the cause that it repeats. Empty: nobody is told of it. */
function kindsIn({ kind, facts }: Told): readonly EventKind[] {
  // The end of a trouble is not told.
  if ('isOver' in facts) return [];
  if (kind === 'holding') return [facts.result];
  if (kind === 'lending') return facts.isAgain ? [] : ['succeeded'];
  if ((NEVER_TOLD as readonly EventKind[]).includes(kind)) return [];
  const after: Cause | undefined = 'after' in facts ? facts.after : undefined;
  return after === undefined ? [kind] : [kind, after.kind];
}

/** Returns whether the event is the end of its job. Slices may stay (`keep`). */
export const isEnd = (told: Told): boolean => isTold(DEFAULT_TOPICS, told);

import type { Draws } from '../random.js';
import type { ReceiverFault } from '../oracle/receiver.js';
import { type DeedDo, lasting, seconds } from './cloud-deeds.js';
import type { Stage } from './stage.js';

/** Draws an open group. */
async function drawOpenGroup(stage: Stage, draws: Draws): Promise<string | undefined> {
  const open = await stage.openGroups();
  return open.length === 0 ? undefined : draws.pick(open);
}

/** What people do to groups. The note comes first: the effect may be seen before the answer. */
export const GROUP_DEEDS: Readonly<Record<string, DeedDo>> = {
  'a group is stopped': async (stage, draws) => {
    const group = await drawOpenGroup(stage, draws);
    if (group === undefined) return false;
    const { jobs } = stage.stack;
    const release = draws.chance(0.4);
    stage.note('verb', `a person stops group ${group}${release ? ', with --release' : ''}`, { job: group });
    stage.endAfter(lasting(stage, draws), () => resumeGroup(stage, group));
    await jobs.stopGroup(group, 'chaos', { release });
    return true;
  },
  'a group is cancelled': async (stage, draws) => {
    const group = await drawOpenGroup(stage, draws);
    if (group === undefined) return false;
    stage.note('cancel', `a person cancels group ${group}`, { job: group });
    await stage.stack.jobs.cancelGroup(group);
    return true;
  },
  'a group is retried': async (stage, draws) => {
    const group = draws.pick(stage.groups).id;
    if (!stage.submitted.has(group)) return false;
    const { counts = {} } = await stage.stack.jobs.group(group);
    if ((counts['failed'] ?? 0) + (counts['terminated'] ?? 0) + (counts['skipped by fail_fast'] ?? 0) === 0)
      return false;
    stage.note('retry', `a person retries group ${group}`, { job: group });
    await stage.stack.jobs.retryGroup(group, 'chaos');
    return true;
  },
  'a group begins without those that it waits for': async (stage, draws) => {
    const waiting = stage.groups.filter(({ after }) => after !== undefined).map(({ id }) => id);
    const open = (await stage.openGroups()).filter((id) => waiting.includes(id));
    if (open.length === 0) return false;
    const group = draws.pick(open);
    const { awaited } = await stage.stack.jobs.group(group);
    if (awaited === undefined) return false;
    stage.note('begin', `a person lets group ${group} begin`, { job: group });
    await stage.stack.jobs.beginGroup(group, 'chaos');
    return true;
  },
};

/** A group that has ended meanwhile cannot be resumed. */
async function resumeGroup(stage: Stage, group: string): Promise<void> {
  stage.note('verb', `a person resumes group ${group}`, { job: group });
  await stage.stack.jobs.resumeGroup(group, 'chaos').catch(() => undefined);
}

/** Resumes all groups that people had stopped. */
export async function resumeGroups(stage: Stage): Promise<void> {
  for (const group of await stage.openGroups())
    if ((await stage.stack.jobs.group(group)).stopped !== undefined) await resumeGroup(stage, group);
}

const faulty =
  (fault: ReceiverFault, text: string): DeedDo =>
  async (stage, draws) => {
    if (stage.receiver === undefined) return false;
    const forMs = lasting(stage, draws);
    stage.receiver.become(fault);
    stage.endAfter(forMs, async () => stage.receiver?.become());
    stage.note('fault', `the receiver of all events ${text}, for ${seconds(forMs)}`);
    return true;
  };

/** Faults of the webhook that all jobs tell. */
export const RECEIVER_DEEDS: Readonly<Record<string, DeedDo>> = {
  'the receiver is down': faulty('down', 'ends each connection'),
  'the receiver fails': faulty('error', 'answers 500'),
  'the receiver is busy': faulty('busy', 'answers 429 with Retry-After'),
  'the receiver is slow': faulty('slow', 'takes its time'),
  'answers of the receiver are lost': faulty('lost', 'takes events, and its answers are lost'),
};

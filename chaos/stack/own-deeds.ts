import { setTimeout as sleep } from 'node:timers/promises';
import { OWN_SIGNALS } from '../../domain/temporal-server.js';
import type { DeedKind } from '../oracle/evidence.js';
import type { Draws } from '../random.js';
import { type DeedDo, lasting } from './cloud-deeds.js';
import { resumeGroups } from './group-deeds.js';
import { quotaText } from './pool.js';
import { POOL } from './private-stack.js';
import type { Stage } from './stage.js';
import { spanOf } from './tier.js';

const SIGNALS = [...OWN_SIGNALS, 'no-such-signal'];
const GARBAGE: readonly unknown[] = [
  null,
  'x',
  7,
  {},
  [],
  [null],
  [{}],
  { v: 1 },
  { epoch: 'x' },
  { run: 'x', number: 1, epoch: 1 },
];

/** Ends a part of the stack, or one of its workers, by a signal, and starts it again after a while. */
async function restarted(
  stage: Stage,
  draws: Draws,
  of: 'server' | 'rehearsal' | 'workers',
  signal: NodeJS.Signals,
): Promise<boolean> {
  const part = draws.pick(of === 'workers' ? stage.stack.workers : [stage.stack[of]]);
  if (!part.isRunning) return false;
  const { name } = part;
  const forMs = lasting(stage, draws) / 4;
  const text = `${signal} to the ${name}; it is started again ${(forMs / 1000).toFixed(1)} s later`;
  stage.note('ended-process', text, { process: name });
  await part.end(signal);
  stage.endAfter(forMs, async () => part.spawn());
  return true;
}

type Target = 'job' | 'slice' | 'quota' | 'group' | 'notices';

async function targetOf(
  stage: Stage,
  draws: Draws,
): Promise<{ readonly id: string; readonly type: Target } | undefined> {
  const type = draws.pick(['job', 'job', 'slice', 'quota', 'group', 'notices'] as const);
  if (type === 'quota') return { id: `quota/${POOL}`, type };
  const open = await stage.open(type);
  return open.length === 0 ? undefined : { id: draws.pick(open), type };
}

/** Ends or resets a workflow from outside. For the oracle, a job's workflow and a slice's are different kinds of deeds. */
async function onWorkflow(stage: Stage, draws: Draws, how: 'terminate' | 'cancel' | 'reset'): Promise<boolean> {
  const target = await targetOf(stage, draws);
  if (target === undefined) return false;
  const { id, type } = target;
  // Whoever ends one of these ends what it had to tell (docs/adr/0148).
  if (type === 'notices' && how !== 'reset') return false;
  const { client } = stage.stack;
  const handle = client.workflow.getHandle(id);
  // Noted before the call: its effect may be seen before its answer.
  const kinds: Readonly<Record<Target, DeedKind>> = {
    ...{ job: how, slice: 'slice-workflow', quota: 'fault', notices: 'fault' },
    group: how === 'terminate' ? 'group-terminated' : how === 'cancel' ? 'cancel' : 'fault',
  };
  const job =
    type === 'job'
      ? id
      : type === 'group'
        ? id.slice('group/'.length)
        : /^slice\/jc-(?<job>.+?)(?:-s\d+)?-g\d+/u.exec(id)?.groups?.['job'];
  stage.note(
    kinds[type],
    `the workflow ${id} is ${how === 'reset' ? 'reset to its first task' : `${how === 'cancel' ? 'cancell' : 'terminat'}ed`}`,
    job === undefined ? {} : { job },
  );
  if (how === 'terminate') await handle.terminate('chaos');
  else if (how === 'cancel') await handle.cancel();
  else await resetToFirstTask(stage, id);
  return true;
}

async function resetToFirstTask({ stack: { client } }: Stage, workflowId: string): Promise<void> {
  const { namespace } = client.options;
  const { runId } = await client.workflow.getHandle(workflowId).describe();
  const execution = { workflowId, runId };
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace,
    execution,
    maximumPageSize: 20,
  });
  // WORKFLOW_TASK_COMPLETED
  const first = (history?.events ?? []).find(({ eventType }) => eventType === 7)?.eventId;
  if (first === undefined || first === null) throw new Error(`${workflowId} has no workflow task to be reset to`);
  const request = { namespace, workflowExecution: execution, workflowTaskFinishEventId: first };
  await client.workflowService.resetWorkflowExecution({
    ...request,
    requestId: `chaos-${Date.now()}`,
    reason: 'chaos',
  });
}

/** Draws an open job that was submitted by chaos. */
async function drawOpenJob(stage: Stage, draws: Draws): Promise<string | undefined> {
  const open = (await stage.open('job')).filter((id) => stage.isSubmitted(id));
  return open.length === 0 ? undefined : draws.pick(open);
}

async function personSays(stage: Stage, draws: Draws): Promise<boolean> {
  const job = await drawOpenJob(stage, draws);
  if (job === undefined) return false;
  const { jobs } = stage.stack;
  const verb = draws.pick(['stop', 'stop --release', 'restart', 'requeue', 'requeue'] as const);
  stage.note('verb', `a person says ${verb} of ${job}`, { job });
  const resume = async (): Promise<void> => {
    stage.note('verb', `a person says resume of ${job}`, { job });
    // A job that has ended meanwhile cannot be resumed.
    await jobs.resume(job, 'chaos').catch(() => undefined);
  };
  if (verb === 'restart') await jobs.restart(job, 'chaos');
  else if (verb === 'requeue') await jobs.requeue(job, 'chaos');
  else {
    stage.endAfter(lasting(stage, draws), resume);
    await jobs.stop(job, 'chaos', { release: verb === 'stop --release' });
  }
  return true;
}

/** Deeds of people and operators, and crashes of the stack's own processes. */
export const OWN_DEEDS: Readonly<Record<string, DeedDo>> = {
  'the worker is killed': (stage, draws) => restarted(stage, draws, 'workers', 'SIGKILL'),
  'the worker is ended': (stage, draws) => restarted(stage, draws, 'workers', 'SIGTERM'),
  'the Temporal server is killed': (stage, draws) => restarted(stage, draws, 'server', 'SIGKILL'),
  'the rehearsal is killed': (stage, draws) => restarted(stage, draws, 'rehearsal', 'SIGKILL'),
  'a workflow is terminated': (stage, draws) => onWorkflow(stage, draws, 'terminate'),
  'a workflow is cancelled': (stage, draws) => onWorkflow(stage, draws, 'cancel'),
  'a workflow is reset': (stage, draws) => onWorkflow(stage, draws, 'reset'),
  'garbage signals': async (stage, draws) => {
    const target = await targetOf(stage, draws);
    if (target === undefined) return false;
    const handle = stage.stack.client.workflow.getHandle(target.id);
    const sent: string[] = [];
    for (let count = draws.between(1, 5); count > 0; count--) {
      const [signal, input] = [draws.pick(SIGNALS), draws.pick(GARBAGE)];
      await handle.signal(signal, input);
      sent.push(`${signal} ${JSON.stringify(input)}`);
    }
    stage.note('fault', `${target.id} is sent ${sent.join(', ')}`);
    return true;
  },
  'a person says': personSays,
  'a job is cancelled': async (stage, draws) => {
    const job = await drawOpenJob(stage, draws);
    if (job === undefined) return false;
    stage.note('cancel', `a person cancels ${job}`, { job });
    await stage.stack.jobs.cancel(job);
    return true;
  },
  'the quota file changes': async (stage, draws) => {
    const text = draws.pick([quotaText(32), quotaText(16), 'not = [toml', '']);
    stage.stack.writeQuota(text);
    const forMs = lasting(stage, draws);
    stage.endAfter(forMs, async () => stage.stack.writeQuota(quotaText()));
    stage.note(
      'fault',
      `the quota file is ${text === '' ? 'empty' : text.includes('not =') ? 'broken' : 'smaller'} for ${(forMs / 1000).toFixed(1)} s`,
    );
    return true;
  },
};

/**
 * A group hears of a member that was terminated within ten minutes, which no factor divides. An operator who does not want to wait
 * resets its workflow: then it looks at once (docs/adr/0157).
 */
export async function resetUnaware(stage: Stage): Promise<void> {
  for (const group of await stage.openGroups()) {
    const isUnaware = stage.deeds.some(({ kind, job = '' }) => kind === 'terminate' && job.startsWith(`${group}-`));
    if (!isUnaware) continue;
    stage.note('fault', `an operator resets group ${group}, a member of which was terminated`, { job: group });
    await resetToFirstTask(stage, `group/${group}`).catch(() => undefined);
  }
}

/** Resumes jobs that people had stopped, until none is paused or released. Call it after the last fault has ended. */
export async function resumeAll(stage: Stage): Promise<void> {
  const deadline = Date.now() + spanOf(stage.tier, 'longestFault') + 10_000;
  while (Date.now() < deadline) {
    await resumeGroups(stage);
    const resting: string[] = [];
    for (const id of await stage.open('job')) {
      const { phase } = await stage.stack.jobs.row(id);
      if (phase === 'paused' || phase === 'released') resting.push(id);
    }
    if (resting.length === 0) return;
    for (const job of resting) {
      stage.note('verb', `a person says resume of ${job}`, { job });
      await stage.stack.jobs.resume(job, 'chaos').catch(() => undefined);
    }
    await sleep(500);
  }
}

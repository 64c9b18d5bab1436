import type { Draws } from '../random.js';
import { configured, type DeedDo, lasting, seconds } from './cloud-deeds.js';
import type { Stage } from './stage.js';
import { spanOf } from './tier.js';

async function preempt(
  stage: Stage,
  draws: Draws,
  how: { readonly text: string; readonly body: object },
): Promise<boolean> {
  const nodes = await stage.readyNodes();
  if (nodes.length === 0) return false;
  const { name } = draws.pick(nodes);
  await stage.admin.post('preempt', { name, ...how.body });
  stage.note('preempt', `the provider preempts ${name}, ${how.text}`, { resource: name });
  return true;
}

/** Deeds of the provider to slices. */
export const SLICE_DEEDS: Readonly<Record<string, DeedDo>> = {
  'preempted with notice': (stage, draws) =>
    preempt(stage, draws, { text: 'with notice', body: { noticeMs: Math.round(spanOf(stage.tier, 'notice')) } }),
  'preempted without notice': (stage, draws) =>
    preempt(stage, draws, { text: 'without notice', body: { notice: false } }),
  'preempted and vanished': (stage, draws) =>
    preempt(stage, draws, {
      text: 'without notice, and it is in no list any more',
      body: { notice: false, mode: 'vanish' },
    }),
  'preempted as a signal': (stage, draws) =>
    preempt(stage, draws, { text: 'its guests shut down, and the API says nothing', body: { mode: 'signal' } }),
  'preempted as silence': async (stage, draws) => {
    const nodes = await stage.readyNodes();
    if (nodes.length === 0) return false;
    const { name } = draws.pick(nodes);
    await stage.admin.post('hosts', { name, host: 'all', action: 'unreachable' });
    stage.note('fault', `the hosts of ${name} are silent`, { resource: name });
    stage.endAfter(lasting(stage, draws), async () => {
      // What is gone meanwhile cannot be preempted any more.
      await stage.admin.post('preempt', { name, notice: false }).catch(() => undefined);
      stage.note('preempt', `and the API says only now that ${name} is preempted`, { resource: name });
    });
    return true;
  },
  'a warning that clears': async (stage, draws) => {
    const nodes = await stage.readyNodes();
    if (nodes.length === 0) return false;
    const { name } = draws.pick(nodes);
    const clearAfterMs = lasting(stage, draws);
    await stage.admin.post('warn', { name, clearAfterMs });
    stage.note('fault', `${name} is UNHEALTHY_MAINTENANCE for ${seconds(clearAfterMs)}, and nothing comes of it`, {
      resource: name,
    });
    return true;
  },
  'a node is TERMINATED': async (stage, draws) => {
    const nodes = await stage.readyNodes();
    if (nodes.length === 0) return false;
    const { name } = draws.pick(nodes);
    await stage.admin.post('force', { name, state: 'TERMINATED' });
    stage.note('preempt', `${name} is TERMINATED`, { resource: name });
    return true;
  },
  'a node is REPAIRING': async (stage, draws) => {
    const nodes = await stage.readyNodes();
    if (nodes.length === 0) return false;
    const { name } = draws.pick(nodes);
    await stage.admin.post('maintenance', { name, kind: 'repair' });
    stage.note('fault', `${name} is REPAIRING for a second, and its hosts are silent`, { resource: name });
    return true;
  },
  'maintenance is announced': async (stage, draws) => {
    const nodes = await stage.readyNodes();
    if (nodes.length === 0) return false;
    const { name } = draws.pick(nodes);
    await stage.admin.post('maintenance', { name, kind: 'announce' });
    stage.note('fault', `the guests of ${name} are told of maintenance, and nothing comes of it`, { resource: name });
    return true;
  },
  'the API says late that a slice is off': (stage, draws) => {
    const preemptedLagMs = lasting(stage, draws);
    const text = `of slices that lose their power the API says so ${seconds(preemptedLagMs)} later, and their connections do not end`;
    const [during, after] = [
      { preemptedLagMs, sshAtShutdown: 'silent' },
      { preemptedLagMs: 0, sshAtShutdown: 'open' },
    ];
    return configured(stage, draws, during, after, text);
  },
};

import type { DeedKind } from '../oracle/evidence.js';
import type { Draws } from '../random.js';
import { type DeedDo, lasting, seconds } from './cloud-deeds.js';
import type { Stage } from './stage.js';

/** Puts a fault on one host, on one node or VM, or on all of them, and ends it after a while. */
async function onHosts(
  stage: Stage,
  draws: Draws,
  { action, end, extra = {}, kind = 'fault' }: HostFault,
): Promise<boolean> {
  const nodes = await stage.readyHosts();
  if (nodes.length === 0) return false;
  const scope = draws.pick(['one host', 'one slice', 'one slice', 'all slices'] as const);
  const some = scope === 'all slices' ? nodes : [draws.pick(nodes)];
  const forMs = lasting(stage, draws);
  for (const { name, count } of some) {
    const host = scope === 'one host' ? draws.between(0, count - 1) : 'all';
    await stage.admin.post('hosts', { name, host, action, ...extra });
    // A slice that is gone by then has no fault any more.
    stage.endAfter(forMs, () => stage.admin.post('hosts', { name, host, ...end }).catch(() => undefined));
    stage.note(kind, `${action} on ${name}, ${host === 'all' ? 'all hosts' : `host ${host}`}, for ${seconds(forMs)}`, {
      resource: name,
    });
  }
  return true;
}
interface HostFault {
  readonly action: string;
  readonly end: object;
  readonly extra?: object;
  /** Absent: `fault`, by which the oracle does not judge. */
  readonly kind?: DeedKind;
}

/** Faults of hosts, and of the processes on them. */
export const HOST_DEEDS: Readonly<Record<string, DeedDo>> = {
  'SSH is silent': (stage, draws) => onHosts(stage, draws, { action: 'unreachable', end: { action: 'reachable' } }),
  'SSH is refused': (stage, draws) => onHosts(stage, draws, { action: 'refuse-ssh', end: { action: 'accept-ssh' } }),
  'SSH is slow': (stage, draws) =>
    onHosts(stage, draws, { action: 'slow-ssh', end: { action: 'slow-ssh', delayMs: 0 }, extra: { delayMs: 1_000 } }),
  'hosts are frozen': (stage, draws) => onHosts(stage, draws, { action: 'freeze', end: { action: 'thaw' } }),
  'a disk is full': (stage, draws) =>
    onHosts(stage, draws, { action: 'fill-disk', end: { action: 'free-disk' }, kind: 'full-disk' }),
  'processes of a host are killed': async (stage, draws) => {
    const nodes = await stage.readyHosts();
    if (nodes.length === 0) return false;
    const { name, count } = draws.pick(nodes);
    const host = draws.between(0, count - 1);
    await stage.admin.post('hosts', { name, host, action: 'kill-processes' });
    stage.note('killed-processes', `all processes of ${name}, host ${host} are killed`, { resource: name });
    return true;
  },
  'a command alone gets SIGTERM': async (stage, draws) => {
    const { running } = stage.listener;
    if (running.length === 0) return false;
    const begin = draws.pick(running);
    const { job, process, slice, host } = begin;
    stage.note('signalled', `somebody sends SIGTERM to the command of ${job}, slice ${slice}, host ${host}`, {
      job,
      process,
    });
    stage.listener.terminate(begin);
    return true;
  },
};

import assert from 'node:assert/strict';
import { JobTerminated } from '../../client/errors.js';
import { until } from '../until.js';
import type { FullPool } from './full-pool.js';

/** Tells when it is told to end, and does not end. */
export const TELLS = "trap 'echo got TERM' TERM; echo started; while :; do sleep 0.2; done";

/** How a job gets into each phase, and stays there. */
export const PHASES = {
  queued: async (full: FullPool) => {
    await full.submit();
    await until('the first job has the chips', async () => (await full.admin.status()).nodes.length > 0);
    const id = await full.submit();
    await full.inPhase(id, 'queued');
    await until('it is known to wait', () => full.isWaiting(id));
    return id;
  },
  provisioning: async (full: FullPool) => {
    await full.admin.post('hold', { state: 'WAITING_FOR_RESOURCES' });
    const id = await full.submit();
    await until('its request waits', async () =>
      (await full.admin.status()).queuedResources.some(({ state }) => state === 'WAITING_FOR_RESOURCES'),
    );
    return id;
  },
  'setting-up': async (full: FullPool) => {
    const id = await full.submit(undefined, {
      setup: { modules: ['venv', 'command'] },
      venv: { name: 'v', python: 'python3' },
    });
    await full.inPhase(id, 'setting-up');
    return id;
  },
  running: (full: FullPool) => full.running(),
};
export type Ending = 'cancel' | 'terminate';

export const leavesNothing = (phase: string, ending: Ending): string =>
  `${ending} while ${phase} leaves no node, no queued resource, no process and no lease`;

export async function endWhile(full: FullPool, phase: keyof typeof PHASES, ending: Ending): Promise<void> {
  const { jobs } = full.stack;
  const id = await PHASES[phase](full);
  const inits = await full.inits();
  await (ending === 'cancel' ? jobs.cancel(id) : full.terminate(id));
  if (ending === 'cancel') assert.equal((await jobs.wait(id)).result, 'cancelled', full.stack.tail());
  else await assert.rejects(jobs.wait(id), JobTerminated);
  // The job that held the chips while another waited.
  for (const { id: other, endedAt } of (await jobs.list({ pool: full.pool })).rows) {
    if (other !== id && endedAt === undefined) await jobs.cancel(other);
  }
  await full.nothingIsLeft(inits);
}

import assert from 'node:assert/strict';
import { JobTerminated } from '../../client/errors.js';
import { until } from '../until.js';
import type { FullPool } from './full-pool.js';
import { withFullPool } from './with-full-pool.js';

/** Tells when it is told to end, and does not end. */
const TELLS = "trap 'echo got TERM' TERM; echo started; while :; do sleep 0.2; done";

describe('a job that is ended from outside', function () {
  this.timeout(90_000);
  let full: FullPool;
  withFullPool('ending', (own) => void (full = own));

  /** How a job gets into each phase, and stays there. */
  const phases: Record<string, () => Promise<string>> = {
    queued: async () => {
      await full.submit();
      await until('the first job has the chips', async () => (await full.admin.status()).nodes.length > 0);
      const id = await full.submit();
      await full.inPhase(id, 'queued');
      await until('it is known to wait', () => full.isWaiting(id));
      return id;
    },
    provisioning: async () => {
      await full.admin.post('hold', { state: 'WAITING_FOR_RESOURCES' });
      const id = await full.submit();
      await until('its request waits', async () =>
        (await full.admin.status()).queuedResources.some(({ state }) => state === 'WAITING_FOR_RESOURCES'),
      );
      return id;
    },
    'setting-up': async () => {
      const id = await full.submit(undefined, {
        setup: { modules: ['venv', 'command'] },
        venv: { name: 'v', python: 'python3' },
      });
      await full.inPhase(id, 'setting-up');
      return id;
    },
    running: () => full.running(),
  };
  const endings: Record<string, (id: string) => Promise<unknown>> = {
    cancel: (id) => full.stack.jobs.cancel(id),
    terminate: (id) => full.terminate(id),
  };

  for (const [phase, reach] of Object.entries(phases)) {
    for (const [ending, end] of Object.entries(endings)) {
      it(`${ending} while ${phase} leaves no node, no queued resource, no process and no lease`, async () => {
        const { jobs } = full.stack;
        const id = await reach();
        const inits = await full.inits();
        await end(id);
        if (ending === 'cancel') assert.equal((await jobs.wait(id)).result, 'cancelled', full.stack.tail());
        else await assert.rejects(jobs.wait(id), JobTerminated);
        // The job that held the chips while another waited.
        for (const { id: other, endedAt } of (await jobs.list({ pool: full.pool })).rows) {
          if (other !== id && endedAt === undefined) await jobs.cancel(other);
        }
        await full.nothingIsLeft(inits);
      });
    }
  }

  it('a cancelled process that ignores SIGTERM had its grace, and its last lines are kept', async () => {
    const id = await full.submit(TELLS);
    await full.hasPrinted(id);
    await full.stack.jobs.cancel(id);
    await full.stack.jobs.wait(id);
    await full.stoppedWithGrace(id);
    await full.nothingIsLeft();
  });

  it('a cancel that comes between two supervisions stops the command with its grace all the same', async () => {
    const { client, jobs } = full.stack;
    const id = await full.submit(TELLS);
    await full.hasPrinted(id);
    // The record that is written between two of them is held up.
    const nameMatches = `${id}/attempts/1.json`;
    await full.admin.post('refuse', { method: 'objects.insert', code: 'UNAVAILABLE', nameMatches });
    await until('nobody watches it', async () => {
      const { raw } = await client.workflow.getHandle(id).describe();
      return raw.pendingActivities?.some(
        ({ activityType, attempt }) => activityType?.name === 'recordAttempt' && (attempt ?? 0) > 1,
      );
    });
    await jobs.cancel(id);
    await until('the job ends', async () => (await jobs.row(id)).phase === 'finishing');
    await full.admin.stopRefusing();
    await jobs.wait(id);
    await full.stoppedWithGrace(id);
    await full.nothingIsLeft();
  });
});

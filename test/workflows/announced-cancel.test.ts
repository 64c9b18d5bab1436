import assert from 'node:assert/strict';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { cancelNoteSignal } from '../../contract/job.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import type { Outcome } from '../../domain/job-state.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { jobFile } from '../end-to-end/job-files.js';
import { READY, WAITING } from '../virtual-clock/plain-activities.js';
import { Sandboxes } from '../virtual-clock/sandboxes.js';
import { virtualActivities, type VirtualCloud } from '../virtual-clock/virtual-activities.js';
import { VirtualServer } from '../virtual-clock/virtual-server.js';

const START = Date.UTC(2026, 10, 30);
const MINUTE = 60_000;
const ID = 'train';
const NOTE = { v: 1, by: 'alice', from: 'wks-12', verb: 'cancel' };

/** A job whose command runs for an hour. @returns what became of it after ten minutes */
async function lived(events: (server: VirtualServer) => void) {
  const server = new VirtualServer(await Sandboxes.ofThisProcess(), { startAt: START, delayMs: () => 50 });
  const asked: number[] = [];
  let outcome: Outcome | undefined;
  const cloud: VirtualCloud = {
    create: async () => ({ kind: 'accepted' }),
    inspect: async () => WAITING,
    wait: async () => READY,
    remove: async () => undefined,
    run: async (_: AttemptInput, signal): Promise<AttemptEnd> => {
      await server.sleep(60 * MINUTE, signal);
      return { kind: 'exited', code: 0, at: { slice: 0, host: 0 }, startedAt: START };
    },
  };
  server.serve({
    ...virtualActivities(server, cloud, { ...DEFAULT_TIMINGS, heartbeatTimeoutMs: MINUTE }),
    recordOutcome: async (told: { readonly outcome: Outcome }) => void (outcome = told.outcome),
    cancelMembers: async ({ ids, asker }: { readonly ids: readonly string[]; readonly asker: object }) => {
      asked.push(server.now - START);
      for (const id of ids) {
        server.signal(id, cancelNoteSignal.name, { v: 1, ...asker });
        server.cancel(id);
      }
    },
  });
  void server.start(WorkflowType.Job, ID, { v: 1, job: jobFile('train') });
  server.at(START + 2 * MINUTE, () => events(server));
  server.at(START + 10 * MINUTE, () => undefined);
  await server.run(START + 10 * MINUTE);
  return { asked, outcome, isOpen: server.isOpen(ID) };
}

describe('a cancel that was announced', function () {
  this.timeout(120_000);

  it('is asked for if it does not come, as after a reset, and names who wanted it', async () => {
    const { asked, outcome, isOpen } = await lived((server) => void server.signal(ID, cancelNoteSignal.name, NOTE));
    assert.equal(asked.length, 1);
    assert.ok((asked[0] ?? 0) >= 3 * MINUTE && (asked[0] ?? 0) < 3 * MINUTE + 5_000, String(asked));
    assert.equal(isOpen, false);
    assert.equal(outcome?.result, 'cancelled');
    assert.equal(outcome.cause?.asker?.by, 'alice');
  });

  it('is not asked for again if it comes', async () => {
    const { asked, outcome } = await lived((server) => {
      server.signal(ID, cancelNoteSignal.name, NOTE);
      server.cancel(ID);
    });
    assert.deepEqual(asked, []);
    assert.equal(outcome?.result, 'cancelled');
    // Its command took a minute to end, for as long as a note counts without its cancel.
    assert.ok(outcome.endedAt - START > 3 * MINUTE);
    assert.equal(outcome.cause?.asker?.by, 'alice');
  });
});

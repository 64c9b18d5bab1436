import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import proto from '@temporalio/proto';
import { currentBundle } from '../replay/bundles.js';
import { replay } from '../replay/recorded.js';
import { play, readIncident } from './play.js';

const FOLDER = new URL('.', import.meta.url).pathname;

/** Every export in this folder: docs/operations.md, "An incident becomes a test". */
describe('incidents', function () {
  this.timeout(60_000);
  const files = readdirSync(FOLDER).filter((name) => /\.json(\.gz)?$/.test(name));

  for (const name of files) {
    const file = join(FOLDER, name);
    it(`${name}: the facts of each attempt lead to what is expected`, () => {
      const incident = readIncident(file);
      assert.deepEqual(play(incident), incident.expected);
    });
  }

  it('their workflows replay on the code as it is built', async () => {
    const recorded = files.flatMap((name) =>
      readIncident(join(FOLDER, name)).histories.map(({ workflowId, runId, events }) => ({
        file: `${name}, ${workflowId}@${runId}`,
        workflowId,
        history: proto.temporal.api.history.v1.History.fromObject(historyFromJSON({ events })),
        codecKey: undefined,
      })),
    );
    if (recorded.length === 0) return;
    const failures = await replay(recorded, currentBundle);
    assert.deepEqual(
      failures.map(({ file, error }) => `${file}: ${error.message}`),
      [],
    );
  });
});

import assert from 'node:assert/strict';
import { CHANGES } from '../../contract/changes.js';
import { currentBundle } from './bundles.js';
import { HistoryFacts } from './history-facts.js';
import { allKinds, kindsOf } from './kinds.js';
import { readRecorded, type RecordedHistory, replay, typeOf } from './recorded.js';
import { recordingFolder } from './recording.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import { redactedHistory } from './redacted.js';
import { markersMissing } from './markers.js';

/** `npm run check:replay`, and the last step of .ci/run (docs/adr/0037). */
describe('replay: every kind', function () {
  this.timeout(300_000);
  let recorded: readonly RecordedHistory[];
  let facts: readonly HistoryFacts[];

  before(() => {
    const folder = recordingFolder();
    recorded = folder === undefined ? [] : readRecorded(folder);
    facts = recorded.map(({ history }) => new HistoryFacts(history));
    if (recorded.length === 0)
      throw new Error(`${folder ?? 'JOBCTL_TEST_HISTORIES'} holds no history: run 'npm run record:histories' first`);
  });

  it("the run's live steps showed every kind of history", () => {
    const shown = new Set(facts.flatMap(kindsOf));
    const counts = allKinds.map((kind) => [kind, facts.filter((one) => kindsOf(one).includes(kind)).length]);
    process.stdout.write(`${counts.map(([kind, count]) => `      ${String(count).padStart(4)} ${kind}\n`).join('')}`);
    const missing = allKinds.filter((kind) => !shown.has(kind));
    assert.deepEqual(missing, [], `of ${recorded.length} histories none shows these (test/replay/kinds.ts)`);
  });

  it('each change of workflow code has a history with its marker, for each workflow that it changes', () => {
    assert.deepEqual(markersMissing(CHANGES, facts), []);
  });

  it('every one of them replays on the workflow code as it is built', async () => {
    const failures = await replay(recorded, currentBundle);
    assert.deepEqual(
      failures.map(({ file, error }) => `${file}: ${error.message}`),
      [],
    );
  });

  it('so does every history of a job and of a slice as an export holds it', async () => {
    const exported: readonly string[] = [WorkflowType.Job, WorkflowType.Slice];
    const redacted: RecordedHistory[] = [];
    for (const one of recorded) if (exported.includes(typeOf(one.history))) redacted.push(await redactedHistory(one));
    const failures = await replay(redacted, currentBundle);
    assert.deepEqual(
      failures.map(({ file, error }) => `${file}: ${error.message}`),
      [],
    );
  });
});

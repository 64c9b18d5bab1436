import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import type { WorkflowBundle } from '@temporalio/worker';
import { SHARED_MODULES } from '../../worker/workflow-code.js';

/**
 * The histories that scripts/record-histories.ts wrote, a folder for each version, replayed against today's workflows:
 * what differs would fail on every job that runs while the worker is updated.
 */
const HISTORIES = fileURLToPath(new URL('histories', import.meta.url));
const WORKFLOWS = fileURLToPath(new URL('../../workflows/index.ts', import.meta.url));
const RECORD = 'record them from a running stack: npx tsx scripts/record-histories.ts (CONTRIBUTING.md)';
const QUIET = { trace() {}, debug() {}, info() {}, log() {}, warn: console.warn, error: console.error };

interface Recorded {
  readonly file: string;
  readonly workflowId: string;
  readonly history: { readonly events: readonly { readonly workflowExecutionStartedEventAttributes?: StartedBy }[] };
}
interface StartedBy {
  readonly workflowType?: { readonly name?: string };
}

const recorded = filesOf(HISTORIES).map(readRecorded);
const typeOf = ({ history }: Recorded): string =>
  history.events[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? 'nothing that was started';

describe('replay of recorded histories', function () {
  this.timeout(60_000);
  let workflowBundle: WorkflowBundle;
  before(async () => {
    workflowBundle = await bundleWorkflowCode({
      workflowsPath: WORKFLOWS,
      logger: QUIET,
      preloadModules: [...SHARED_MODULES],
    });
  });

  for (const type of ['job', 'slice', 'quota']) {
    it(`there is a history of the workflow ${type}`, () => {
      assert.ok(
        recorded.some((one) => typeOf(one) === type),
        `${HISTORIES} holds none of ${type}; ${RECORD}`,
      );
    });
  }

  for (const { file, workflowId, history } of recorded) {
    it(`${file} replays`, async () => {
      await Worker.runReplayHistory({ workflowBundle }, history, workflowId);
    });
  }
});

function filesOf(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .sort();
}

function readRecorded(file: string): Recorded {
  const { workflowId, history } = JSON.parse(readFileSync(join(HISTORIES, file), 'utf8')) as Omit<Recorded, 'file'>;
  return { file, workflowId, history };
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { until } from '../until.js';

/** Folder in which the stacks of this run leave their histories, one folder each. Without it nothing is recorded. */
export const recordingFolder = (): string | undefined => process.env['JOBCTL_TEST_HISTORIES'] || undefined;

/** Beside the histories of a stack with encrypted payloads: the key, which is of that stack alone. */
export const CODEC_KEY_FILE = 'codec-key';

export interface RecordedStack {
  readonly client: Client;
  /** Name of the stack's folder; unique among all stacks of a run. */
  readonly name: string;
  /** Of Temporal's visibility: the workflows of this stack and of no other. */
  readonly query: string;
  /** `ID:BASE64`, if the stack encrypts. */
  readonly codecKey?: string | undefined;
  /**
   * Runs whose last workflow task a test has answered itself, or whose history a test has made unreadable: no workflow code
   * made them, so none replays them.
   */
  readonly answeredByTest: ReadonlySet<string>;
}

/**
 * Writes the history of every run of a stack, closed or open, to be replayed by the replay gate
 * (docs/adr/0037). Call it before the stack ends its workflows: what a tear-down terminates shows nothing.
 */
export async function recordHistories(stack: RecordedStack): Promise<void> {
  const { client, name, query, codecKey, answeredByTest } = stack;
  const root = recordingFolder();
  if (root === undefined) return;
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  if (codecKey !== undefined) writeFileSync(join(folder, CODEC_KEY_FILE), codecKey, { mode: 0o600 });
  for (const { workflowId, runId, history } of await readRuns(client, query)) {
    if (answeredByTest.has(runId)) continue;
    const bytes = proto.temporal.api.history.v1.History.encode(history).finish();
    writeFileSync(join(folder, `${encodeURIComponent(workflowId)}@${runId}.bin`), bytes);
  }
}

export interface Run {
  readonly workflowId: string;
  readonly runId: string;
  readonly history: proto.temporal.api.history.v1.History;
}

/** Every run that the query names, closed or open, with its history. */
export async function readRuns(client: Client, query: string): Promise<readonly Run[]> {
  const runs: Run[] = [];
  for (const { workflowId, runId } of await allRuns(client, query)) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    runs.push({ workflowId, runId, history: proto.temporal.api.history.v1.History.fromObject(history) });
  }
  return runs;
}

/** Visibility lags behind: listed until two listings in a row name the same runs. */
async function allRuns(client: Client, query: string): Promise<readonly Listed[]> {
  let before = -1;
  return until('two listings name the same runs', async () => {
    const runs: Listed[] = [];
    for await (const { workflowId, runId } of client.workflow.list({ query })) runs.push({ workflowId, runId });
    const isStable = runs.length === before;
    before = runs.length;
    return isStable ? runs : undefined;
  });
}

type Listed = Pick<Run, 'workflowId' | 'runId'>;

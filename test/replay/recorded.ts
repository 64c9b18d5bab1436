import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import proto from '@temporalio/proto';
import { DefaultLogger, Runtime, Worker, type WorkflowBundleOption } from '@temporalio/worker';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';
import { openCodec } from '../../cloud/codec/payload-codec.js';
import { dataConverterOf } from '../../worker/workflow-code.js';
import { CODEC_KEY_FILE } from './recording.js';
import { LOADING } from '../../worker/workflow-code.js';

export interface RecordedHistory {
  readonly file: string;
  readonly workflowId: string;
  readonly history: proto.temporal.api.history.v1.History;
  /** `ID:BASE64`, if its payloads are encrypted. */
  readonly codecKey: string | undefined;
}

/** Every history below a folder that `recordHistories` wrote. */
export function readRecorded(root: string): readonly RecordedHistory[] {
  if (!existsSync(root)) return [];
  return readdirSync(root).flatMap((stack) => {
    const folder = join(root, stack);
    const keyFile = join(folder, CODEC_KEY_FILE);
    const codecKey = existsSync(keyFile) ? readFileSync(keyFile, 'utf8') : undefined;
    return readdirSync(folder)
      .filter((name) => name.endsWith('.bin'))
      .map((name) => readOne(join(folder, name), name, codecKey));
  });
}

function readOne(file: string, name: string, codecKey: string | undefined): RecordedHistory {
  const workflowId = decodeURIComponent(name.slice(0, name.lastIndexOf('@')));
  return { file, workflowId, history: proto.temporal.api.history.v1.History.decode(readFileSync(file)), codecKey };
}

export interface ReplayFailure {
  readonly file: string;
  readonly workflowType: string;
  readonly error: Error;
}

/** Replays against a bundle of workflow code. @param bundleOf the bundle for plain, or for encrypted, payloads */
export async function replay(
  recorded: readonly RecordedHistory[],
  bundleOf: (isEncrypting: boolean) => Promise<WorkflowBundleOption>,
): Promise<readonly ReplayFailure[]> {
  quietly();
  const byKey = new Map<string | undefined, RecordedHistory[]>();
  for (const one of recorded) byKey.set(one.codecKey, [...(byKey.get(one.codecKey) ?? []), one]);
  const failures: ReplayFailure[] = [];
  try {
    for (const [codecKey, group] of byKey) {
      const workflowBundle = await bundleOf(codecKey !== undefined);
      failures.push(...(await replayGroup(group, { workflowBundle, dataConverter: await converterOf(codecKey) })));
    }
  } finally {
    // A replay runs its sandboxes in this thread, and the SDK leaves a hook behind that compiles a function for every promise of the process.
    globalHandlers.uninstall();
  }
  return failures;
}

let isQuiet = false;
/** Each replay would log the states of a worker of its own. */
function quietly(): void {
  if (!isQuiet) Runtime.install({ logger: new DefaultLogger('ERROR') });
  isQuiet = true;
}

type ReplayOptions = Parameters<typeof Worker.runReplayHistories>[0];

async function replayGroup(group: readonly RecordedHistory[], options: ReplayOptions): Promise<ReplayFailure[]> {
  const failures: ReplayFailure[] = [];
  // It answers in the order in which it was asked.
  const inOrder = group.values();
  for await (const { error } of Worker.runReplayHistories({ ...LOADING, ...options }, group)) {
    const { file, history } = inOrder.next().value as RecordedHistory;
    if (error) failures.push({ file, workflowType: typeOf(history), error });
  }
  return failures;
}

export const typeOf = ({ events }: proto.temporal.api.history.v1.IHistory): string =>
  events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? '';

async function converterOf(codecKey: string | undefined) {
  const environment = codecKey === undefined ? {} : { KEY: codecKey };
  const keys = codecKey === undefined ? {} : { key: 'env:KEY' };
  return dataConverterOf(await openCodec(keys, { onUnknownKey: 'fail', environment }));
}

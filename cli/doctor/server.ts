import { messageOf } from '../../domain/errors.js';
import { BucketMissing } from '../../cloud/store/port.js';
import { foreignQueueText } from '../../cloud/temporal/queue-claim.js';
import { ownerObject } from '../../domain/store-layout.js';
import { isGoogleBucket } from '../../domain/store-place.js';
import { TASK_QUEUE } from '../../domain/temporal-server.js';
import { isPolled, type TaskQueuePolls, taskQueuePolls, TemporalCalls } from '../../client/temporal-calls.js';
import { openReader, withTemporal } from '../place/connect.js';
import { type CliContext, resolveContext } from '../place/context.js';
import { ExitCode } from '../terminal/cli-error.js';
import { explainError } from '../terminal/explain-error.js';
import { noWorkerRemedy, noWorkerText } from '../terminal/render/job-phrases.js';
import { asTyped } from '../terminal/print.js';
import { type Diagnosis, type DoctorFlags, failed, type Finding, ok, warning } from './finding.js';

/**
 * Checks that the Temporal server of this context belongs to this installation and has its workers (docs/adr/0103). The store is
 * checked even if the server cannot be reached.
 * @throws CliError if no server is named
 */
export async function diagnoseServer(_file: string | undefined, flags: DoctorFlags): Promise<Diagnosis> {
  const context = resolveContext(flags.bucket === undefined ? {} : { bucket: flags.bucket });
  const [temporal, ofStore] = await Promise.all([temporalChecks(context), storeChecks(context)]);
  return { ...temporal, findings: temporal.findings.toSpliced(1, 0, ...ofStore) };
}

async function temporalChecks(context: CliContext): Promise<Diagnosis> {
  try {
    return await withTemporal(context, async (temporal, address) => {
      const calls = new TemporalCalls(temporal, `Temporal at ${address}`);
      const polls = await taskQueuePolls({ temporal, calls }, context.taskQueue ?? TASK_QUEUE);
      const ours = await ownOwner(context);
      const server = ok('server', `${address}, namespace ${polls.namespace}`);
      return {
        account: { temporal: address },
        findings: [server, queueCheck(polls, ours), workerCheck(polls, Date.now())],
      };
    });
  } catch (error) {
    const { text, exitCode } = explainError(error, false);
    if (exitCode !== ExitCode.Unavailable) throw error;
    const [what = '', ...remedy] = text.split('\n').map((line) => line.trim());
    return { account: {}, findings: [failed('server', what, remedy.join('\n'))] };
  }
}

/**
 * Checks that each store exists and keeps the promises that a single writer depends on. `doctor --gcp` checks buckets of Google
 * more closely. Here an existing one gives no finding, and a missing answer gives only a warning.
 */
async function storeChecks({
  bucket,
  googleProject,
}: Pick<CliContext, 'bucket' | 'googleProject'>): Promise<readonly Finding[]> {
  if (bucket === undefined) return [];
  const { openStore } = await import('../../cloud/store/open-store.js');
  const { systemBucket, ...own } = bucket;
  const named = [own, ...(systemBucket === undefined ? [] : [{ ...own, bucket: systemBucket }])];
  const found = await Promise.all(
    named.map(async (one) => {
      const isGoogle = isGoogleBucket(one.bucket);
      try {
        await openStore({ ...one, ...(googleProject !== undefined && { projectId: googleProject }) }).probe();
        return isGoogle ? [] : [ok('store', `${one.bucket} lets one of two writers win`)];
      } catch (error) {
        if (isGoogle && !(error instanceof BucketMissing))
          return [warning('store', messageOf(error), asTyped('jobctl doctor --gcp'))];
        return [
          failed(
            'store',
            messageOf(error),
            isGoogle ? 'make it, or name another' : 'docs/stores.md says what it needs',
          ),
        ];
      }
    }),
  );
  return found.flat();
}

/** The owner id in this context's bucket; undefined: there is none, or it cannot be read. */
export async function ownOwner({ store }: Pick<CliContext, 'store'>): Promise<string | undefined> {
  if (store === undefined) return undefined;
  const read = async () => (await openReader(store)).read(ownerObject);
  return (await read().catch(() => undefined))?.toString('utf8').trim();
}

export function queueCheck(polls: TaskQueuePolls, ours: string | undefined): Finding {
  const { taskQueue, owner } = polls;
  if (owner === undefined)
    return warning('task queue', `'${taskQueue}' is claimed by no installation`, asTyped('jobctl setup server'));
  if (ours === undefined)
    return warning('task queue', `'${taskQueue}' is installation '${owner}'; the bucket's owner id cannot be read`);
  if (owner === ours) return ok('task queue', `'${taskQueue}' is this installation, '${ours}'`);
  return failed(
    'task queue',
    foreignQueueText(polls, owner, ours),
    'correct the address, the bucket or the task queue',
  );
}

export function workerCheck(polls: TaskQueuePolls, now: number): Finding {
  const { strangers = [] } = polls;
  if (strangers.length > 0)
    return failed('workers', `of another installation: ${strangers.join(', ')} (pid@computer/owner)`, 'end them');
  if (isPolled(polls, now)) return ok('workers', `poll task queue '${polls.taskQueue}'`);
  return warning('workers', noWorkerText(polls, now), noWorkerRemedy());
}

import type { Connection } from '@temporalio/client';
import type { SwitchMove, SetupStep } from '../../../client/setup-server.js';
import { bucketUrl, isGoogleBucket, placeOfObject, storePlace } from '../../../domain/store-place.js';
import { TASK_QUEUE } from '../../../domain/temporal-server.js';
import { userOf } from '../../place/asker.js';
import { openStore, withTemporal } from '../../place/connect.js';
import {
  bucketOf,
  contextToChange,
  type CliContext,
  type ContextFlags,
  type BucketPlace,
} from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printOut } from '../../terminal/print.js';

export interface SetupServerFlags extends ContextFlags, OutputFlag {
  /** Milliseconds. */
  readonly retention: number;
  readonly temporalCloud?: true;
  /** True if the other installation that has claimed the task queue is gone. */
  readonly takeOver?: true;
  /** Changes of workflow code to switch on, and off. */
  readonly activate?: readonly string[];
  readonly deactivate?: readonly string[];
}

/** Sets up the server. Exit code 0: it is ready; 1: some steps must be done by hand, and were printed. */
export async function setupServer(flags: SetupServerFlags): Promise<number> {
  const context = contextToChange(flags);
  const place = bucketOf(context, 'the id of this installation cannot be kept');
  await refuseMissingBuckets(place, context);
  const store = await openStore(place, context);
  return withTemporal(context, async (client, address) => {
    const { setUpServer } = await import('../../../client/setup-server.js');
    const { changeSteps } = await import('../../../client/setup-server.js');
    const steps: SetupStep[] = [];
    const setup = {
      client,
      connection: client.connection as Connection,
      namespace: client.options.namespace,
      store,
      taskQueue: context.taskQueue ?? TASK_QUEUE,
      retentionMs: flags.retention,
      isTakenOver: flags.takeOver === true,
      isCloud: flags.temporalCloud ?? isTemporalCloud(address),
    };
    const made = await storeSteps(place);
    const moved =
      place.systemBucket === undefined ? [] : [await moveStep({ ...place, systemBucket: place.systemBucket }, context)];
    for await (const step of join(
      given([...made, ...moved]),
      setUpServer(setup),
      changeSteps(setup, movesOf(flags, context)),
    )) {
      steps.push(step);
      if (flags.output === 'text') printOut(`${linesOf(step).join('\n')}\n`);
    }
    if (flags.output === 'json') printOut(`${JSON.stringify({ address, steps }, null, 2)}\n`);
    return steps.some(({ state }) => state === 'by-hand') ? ExitCode.Failed : ExitCode.Done;
  });
}

/**
 * Refuses missing buckets of Google: a person chooses their region and rights, so they are not created here. The check comes
 * first, because one missing bucket would otherwise show only after the other one had been listed completely.
 */
async function refuseMissingBuckets({ systemBucket, ...jobs }: BucketPlace, context: CliContext): Promise<void> {
  const named = [
    { flag: '--bucket', text: jobs.bucket },
    ...(systemBucket === undefined ? [] : [{ flag: '--system-bucket', text: systemBucket }]),
  ].filter(({ text }) => isGoogleBucket(text));
  const { BucketMissing } = await import('../../../cloud/store/port.js');
  const look = async ({ flag, text }: (typeof named)[number]): Promise<readonly string[]> => {
    try {
      await (await openStore({ ...jobs, bucket: text }, context)).probe();
      return [];
    } catch (error) {
      if (error instanceof BucketMissing) return [`${flag}: ${error.message.replace(/^store: list \S+: /, '')}`];
      throw error;
    }
  };
  const [first, ...more] = (await Promise.all(named.map(look))).flat();
  if (first !== undefined) throw new CliError(ExitCode.Usage, first, ...more, 'nothing was changed');
}

/** Creates missing stores other than Google's, and tests them. `doctor` checks who may create a Google bucket. */
async function storeSteps({ bucket, systemBucket, endpoint }: BucketPlace): Promise<readonly SetupStep[]> {
  const others = [bucket, ...(systemBucket === undefined ? [] : [systemBucket])].filter(
    (text) => storePlace(text).kind !== 'google',
  );
  const { ensureStore, openStore: openOne } = await import('../../../cloud/store/open-store.js');
  return Promise.all(
    others.map(async (text): Promise<SetupStep> => {
      const options = { bucket: text, ...(endpoint === undefined ? {} : { endpoint }) };
      const state = await ensureStore(options);
      await openOne(options).probe();
      const detail = `${state === 'created' ? 'made; ' : ''}of two writers it lets one win`;
      return { what: `store ${text}`, state: state === 'created' ? 'done' : 'was-there', detail };
    }),
  );
}

/** Moves the system objects. It runs before the owner's id is read, because an id in the job bucket is this installation's. */
async function moveStep(
  place: BucketPlace & { readonly systemBucket: string },
  context: CliContext,
): Promise<SetupStep> {
  const { systemBucket, ...jobs } = place;
  const { copySystemObjects, strayGlobs } = await import('../../../cloud/store/open-store.js');
  const from = await openStore(jobs, context);
  const copied = await copySystemObjects(from, await openStore({ ...jobs, bucket: systemBucket }, context));
  const what = 'system bucket';
  const left = (await strayGlobs(from)).map((glob) => `'${placeOfObject(from.bucket, glob)}'`);
  // Other stores have different tools, some of which do not support `**`.
  const remove = isGoogleBucket(from.bucket) ? 'gcloud storage rm' : '# remove';
  const commands = left.length === 0 ? [] : [`${remove} ${left.join(' ')}`];
  const then = left.length === 0 ? '' : '; when every worker and server names it, remove what is left in the other';
  if (copied === 0)
    return { what, state: 'was-there', detail: `${bucketUrl(systemBucket)} has what decides${then}`, commands };
  return { what, state: 'done', detail: `copied ${copied} objects from ${bucketUrl(from.bucket)}${then}`, commands };
}

async function* given<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

async function* join<T>(...sequences: readonly AsyncIterable<T>[]): AsyncGenerator<T> {
  for (const sequence of sequences) yield* sequence;
}

function movesOf({ activate = [], deactivate = [] }: SetupServerFlags, context: CliContext): readonly SwitchMove[] {
  const by = userOf(context);
  return [
    ...deactivate.map((id) => ({ id, to: 'off', by }) as const),
    ...activate.map((id) => ({ id, to: 'on', by }) as const),
  ];
}

/** Addresses of namespaces and of regions (docs.temporal.io/cloud, "Namespace endpoints", 2026-11). */
const isTemporalCloud = (address: string): boolean => /\.(tmprl\.cloud|api\.temporal\.io)(:\d+)?$/.test(address);

const MARKS: Readonly<Record<SetupStep['state'], string>> = {
  done: 'done',
  'was-there': 'ok',
  'by-hand': 'BY HAND',
  advice: 'advice',
};

function linesOf({ what, state, detail, commands = [] }: SetupStep): readonly string[] {
  return [`${MARKS[state].padEnd(8)} ${what}: ${detail}`, ...commands.map((command) => `           ${command}`)];
}

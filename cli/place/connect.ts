import type { Client } from '@temporalio/client';
import type { StorePort, StoreReader } from '../../cloud/store/port.js';
import { storePlace } from '../../domain/store-place.js';
import { FollowMarks } from '../../client/follow-marks.js';
import { TemporalUnreachable } from '../../client/errors.js';
import type { JobClient, JobClientOptions } from '../../client/job-client.js';
import type { TemporalOptions } from '../../client/connect.js';
import type { TemporalJobsOptions } from '../../client/temporal-jobs.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { serverLogin } from './contexts/server-login.js';
import { tellReadPlace } from './contexts/told-place.js';
import { type BucketPlace, bucketOf, type CliContext, refuseStranger, type StorePlace } from './context.js';
import { explainedBy } from './login/server-failures.js';

type ClientMeans = Pick<TemporalJobsOptions, 'store' | 'onUpload'>;

/** Runs `use` with a connected JobClient and closes it afterwards. */
export async function withClient<T>(
  context: CliContext,
  use: (client: JobClient) => Promise<T>,
  options: ClientMeans = {},
): Promise<T> {
  const connection = await connectionOf(context, options);
  const { JobClient } = await import('../../client/job-client.js');
  const client = await JobClient.connect(connection).catch((error: unknown) => {
    throw unreachable(error, context);
  });
  try {
    return await use(client);
  } catch (error) {
    throw explainedBy(context.server, error);
  } finally {
    await client.close();
  }
}

async function connectionOf(context: CliContext, { onUpload, store }: ClientMeans): Promise<JobClientOptions> {
  const told = onUpload === undefined ? {} : { onUpload };
  if (context.server !== undefined) {
    refuseStranger(context);
    tellReadPlace(context);
    const { serverOptionsOf } = await import('./login/server-access.js');
    return { ...serverOptionsOf(context.server), ...told };
  }
  const temporal = temporalOf(context);
  const { taskQueue } = context;
  return {
    temporal,
    ...(taskQueue === undefined ? {} : { taskQueue }),
    ...(store === undefined ? {} : { store }),
    ...told,
  };
}

/** @throws CliError if no server is named, or if the login that its context names cannot be read */
function temporalOf(context: CliContext): TemporalOptions {
  refuseStranger(context);
  tellReadPlace(context);
  const { temporal, login, place } = context;
  return login === undefined ? temporal : { ...temporal, connection: serverLogin(login, place?.name ?? '') };
}

/** Adds the remedy for the place that named the server: a context, or the local stack. */
function unreachable(error: unknown, { place }: CliContext): unknown {
  if (!(error instanceof TemporalUnreachable) || place?.name === undefined) return error;
  const { message, remedy } = error;
  return new CliError(
    ExitCode.Unavailable,
    message,
    ...(remedy === undefined ? [] : [remedy]),
    place.kind === 'stack'
      ? 'it is the Temporal server of your local stack: start it with `jobctl dev up`, or name another: `jobctl help where`'
      : `context ${place.name} names this server; \`jobctl context show\` shows its settings`,
  );
}

/** Opens a store for reading: a bucket, without Google's libraries, or a server's store as far as the caller may read it. */
export async function openReader(place: StorePlace): Promise<StoreReader> {
  if ('server' in place) {
    const [{ createServerReader }, { serverOptionsOf }] = await Promise.all([
      import('../../client/http/store-reader.js'),
      import('./login/server-access.js'),
    ]);
    return createServerReader(serverOptionsOf(place.server));
  }
  const { systemBucket, ...own } = place;
  if (systemBucket === undefined) return openOneReader(own);
  const { splitReader } = await import('../../cloud/store/split-store.js');
  return splitReader(await openOneReader(own), await openOneReader({ ...own, bucket: systemBucket }));
}

/** Marks of followed logs in a bucket. Google's libraries are loaded with the first one, when the log is being read. */
export const openMarks = ({ bucket, endpoint }: BucketPlace): FollowMarks =>
  new FollowMarks(async () => {
    const { openStore } = await import('../../cloud/store/open-store.js');
    return openStore({ bucket, ...(endpoint !== undefined && { endpoint }) });
  });

async function openOneReader(options: Pick<BucketPlace, 'bucket' | 'endpoint'>): Promise<StoreReader> {
  const place = storePlace(options.bucket);
  if (place.kind !== 'google') return (await import('../../cloud/store/open-store.js')).openStore(options);
  const { createStoreReader } = await import('../../cloud/store/reader.js');
  return createStoreReader({ ...options, bucket: place.bucket });
}

/** Runs `use` with a plain Temporal client, for calls that JobClient does not offer, and closes it afterwards. */
export async function withTemporal<T>(
  context: CliContext,
  use: (temporal: Client, address: string) => Promise<T>,
): Promise<T> {
  const temporal = temporalOf(context);
  const { connectTemporal } = await import('../../client/connect.js');
  const { client, address, close } = await connectTemporal(temporal).catch((error: unknown) => {
    throw unreachable(error, context);
  });
  try {
    return await use(client, address);
  } finally {
    await close();
  }
}

/**
 * Opens a writable store. Google's library is loaded only here.
 * @param what the consequence in the error message, such as which file needs a bucket
 * @throws CliError if no bucket is configured
 */
export async function openWritableStore(context: CliContext, what: string): Promise<StorePort> {
  return openStore(bucketOf(context, what), context);
}

/** Opens the store of a place, over one or two buckets. Google's library is loaded only here. */
export async function openStore(
  { systemBucket, ...place }: BucketPlace,
  { googleProject: projectId }: Pick<CliContext, 'googleProject'>,
): Promise<StorePort> {
  const { openStore: openOne } = await import('../../cloud/store/open-store.js');
  const open = (bucket: string): StorePort =>
    openOne({ ...place, bucket, ...(projectId === undefined ? {} : { projectId }) });
  if (systemBucket === undefined) return open(place.bucket);
  const { splitStore } = await import('../../cloud/store/split-store.js');
  return splitStore(open(place.bucket), open(systemBucket));
}

/**
 * The store for uploading these local files of a job. Undefined if there are no files, or if a server takes them.
 * @throws CliError if no bucket is configured
 */
export async function storeForFiles(
  files: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<StorePort | undefined> {
  const [path] = Object.keys(files);
  if (path === undefined || context.server !== undefined) return undefined;
  return openWritableStore(context, `${path} cannot be brought to the hosts`);
}

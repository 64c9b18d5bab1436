import type { Client } from '@temporalio/client';
import type { StorePort, StoreReader } from '../../cloud/store/port.js';
import { storePlace } from '../../domain/store-place.js';
import { FollowMarks } from '../../client/follow-marks.js';
import { TemporalUnreachable } from '../../client/errors.js';
import type { JobClient, JobClientOptions } from '../../client/job-client.js';
import type { TemporalOptions } from '../../client/connect.js';
import type { TemporalJobsOptions } from '../../client/temporal-jobs.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { onInterrupt } from '../terminal/interruptions.js';
import { tellLine } from '../terminal/print.js';
import {
  tellReadPlace,
  type BucketPlace,
  bucketOf,
  type CliContext,
  refuseStranger,
  type StorePlace,
} from './context.js';
import { explainedBy } from './login/server-failures.js';
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fileErrorWords } from '../../domain/errors.js';
import { modeForOthers } from '../../domain/secrets.js';
import type { Environment } from '../terminal/home.js';
import type { Settings } from '../terminal/settings.js';

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
    onWait: tellLine,
    onInterrupt,
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
  const { splitReader } = await import('../../cloud/store/open-store.js');
  return splitReader(await openOneReader(own), await openOneReader({ ...own, bucket: systemBucket }));
}

/** Marks followed logs in a bucket. Google's libraries are loaded with the first mark, when the log is already being read. */
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
  const { splitStore } = await import('../../cloud/store/open-store.js');
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

/**
 * TLS and API key of a context, read from the files and variables that it names.
 * @param name the context's, for messages
 * @throws CliError (Usage) if a file or variable is missing, or others can read a private file
 */
export function serverLogin(
  login: Settings,
  name: string,
  env: Environment = process.env,
): NonNullable<TemporalOptions['connection']> {
  const file = (key: 'tls_ca_file' | 'tls_cert_file' | 'tls_key_file'): Buffer | undefined => {
    const path = login[key];
    return path === undefined ? undefined : readFile(path, `context ${name}: ${key}`, key === 'tls_key_file');
  };
  const [ca, crt, key] = [file('tls_ca_file'), file('tls_cert_file'), file('tls_key_file')];
  if ((crt === undefined) !== (key === undefined))
    throw new CliError(
      ExitCode.Usage,
      `context ${name}: tls_cert_file and tls_key_file belong together, and ${crt === undefined ? 'tls_cert_file' : 'tls_key_file'} is missing`,
      `jobctl context set ${name} --${crt === undefined ? 'tls-cert-file' : 'tls-key-file'} FILE`,
    );
  const apiKey = login.api_key === undefined ? undefined : keyBehind(login.api_key, name, env);
  const isTls = Boolean(login.tls ?? login.tls_server_name ?? ca ?? crt);
  const pair = crt && key && { clientCertPair: { crt, key } };
  const server = login.tls_server_name === undefined ? {} : { serverNameOverride: login.tls_server_name };
  const tls = { ...server, ...(ca && { serverRootCACertificate: ca }), ...pair };
  return { ...(isTls || apiKey !== undefined ? { tls } : {}), ...(apiKey === undefined ? {} : { apiKey }) };
}

function keyBehind(reference: string, name: string, env: Environment): string {
  const place = `context ${name}: api_key`;
  if (reference.startsWith('env:')) {
    const variable = reference.slice('env:'.length);
    const value = env[variable]?.trim();
    if (value) return value;
    throw new CliError(
      ExitCode.Usage,
      `${place}: the environment variable ${variable} is not set`,
      'its value is the API key',
    );
  }
  const text = readFile(fileURLToPath(reference), place, true).toString().trim();
  if (text !== '') return text;
  throw new CliError(ExitCode.Usage, `${place}: ${reference} is empty`, 'it holds the API key, alone');
}

function readFile(path: string, place: string, isPrivate: boolean): Buffer {
  try {
    const mode = isPrivate ? modeForOthers(statSync(path).mode) : undefined;
    if (mode !== undefined)
      throw new CliError(ExitCode.Usage, `${place}: ${path}: others can read it (mode ${mode})`, `chmod 600 ${path}`);
    return readFileSync(path);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(
      ExitCode.Usage,
      `${place}: ${path} cannot be read: ${fileErrorWords(error)}`,
      '`jobctl context show` shows where each setting comes from',
    );
  }
}

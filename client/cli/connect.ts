import type { Client } from '@temporalio/client';
import type { StoreReader } from '../../cloud/store/port.js';
import { TemporalUnreachable } from '../errors.js';
import type { JobClient, JobClientOptions } from '../job-client.js';
import { CliError } from './cli-error.js';
import type { CliContext } from './context.js';
import { ExitCode } from './exit-codes.js';

/** Runs `use` with a client and closes it. */
export async function withClient<T>(
  context: CliContext,
  use: (client: JobClient) => Promise<T>,
  options: Pick<JobClientOptions, 'store' | 'onUpload'> = {},
): Promise<T> {
  const { JobClient } = await import('../job-client.js');
  const { temporal, taskQueue } = context;
  const client = await JobClient.connect({
    temporal,
    ...(taskQueue === undefined ? {} : { taskQueue }),
    ...options,
  }).catch((error: unknown) => {
    throw unreachable(error, context);
  });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

/** Of the local stack there is one way to get it up. */
function unreachable(error: unknown, { label }: CliContext): unknown {
  if (!(error instanceof TemporalUnreachable) || label === undefined) return error;
  const { message, remedy } = error;
  return new CliError(
    ExitCode.Unavailable,
    message,
    ...(remedy === undefined ? [] : [remedy]),
    'it is the Temporal server of your local stack: start it with `jobctl dev up`, or set TEMPORAL_ADDRESS to use another',
  );
}

export async function openReader(store: NonNullable<CliContext['store']>): Promise<StoreReader> {
  const { createStoreReader } = await import('../../cloud/store/reader.js');
  return createStoreReader(store);
}

/** A bare Temporal client, for what JobClient has no word for; closed in the end. */
export async function withTemporal<T>(
  context: CliContext,
  use: (temporal: Client, address: string) => Promise<T>,
): Promise<T> {
  const { connectTemporal } = await import('../connect.js');
  const { client, address, close } = await connectTemporal(context.temporal).catch((error: unknown) => {
    throw unreachable(error, context);
  });
  try {
    return await use(client, address);
  } finally {
    await close();
  }
}

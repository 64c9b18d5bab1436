import { existsSync } from 'node:fs';
import type { TemporalOptions } from '../connect.js';
import { type CodecReferences, splitReferences } from '../../cloud/codec/codec-key.js';
import type { DevContext } from './dev/context.js';
import { readDevContext } from './dev/context.js';
import type { Environment } from './dev/home.js';
import { stackHome } from './dev/home.js';
import { CliError } from './cli-error.js';
import { ExitCode } from './exit-codes.js';

/** Flags that every verb which talks to a server takes. */
export interface ContextFlags {
  readonly temporalAddress?: string;
  readonly namespace?: string;
  readonly taskQueue?: string;
  readonly bucket?: string;
  readonly storeEndpoint?: string;
  readonly googleProject?: string;
  readonly tpuRestEndpoint?: string;
  readonly codecKey?: string;
  readonly codecDecodeKeys?: string;
  readonly secretStore?: string;
}

/** Where a command line talks to. Absent fields: nothing was said; @temporalio/envconfig and Google's defaults hold. */
export interface CliContext {
  readonly temporal: TemporalOptions;
  readonly taskQueue?: string;
  readonly store?: { readonly endpoint?: string; readonly bucket: string };
  readonly googleProject?: string;
  readonly tpuRestEndpoint?: string;
  /** Where `secret:NAME` is looked up: file:///FOLDER, or projects/P. */
  readonly secretStore?: string;
  /** Of the local stack's hosts. */
  readonly ssh?: { readonly port: number; readonly privateKeyFile: string };
  /** REHEARSAL where the local stack is meant. */
  readonly label?: string;
  /** Of Temporal's Web UI. */
  readonly uiUrl?: string;
  /** The state folder that was named, where no local stack is: there is nobody to talk to (`refuseStranger`). */
  readonly missingStack?: string;
}

/**
 * Flags, then the environment (TEMPORAL_*, JOBCTL_*), then the local stack of JOBCTL_HOME where one came up, then defaults.
 * The local stack is passed over as a whole where flag or environment name another Temporal: jobs of one place and a bucket
 * of another would be a mix that nobody meant.
 */
export function resolveContext(flags: ContextFlags, env: Environment = process.env): CliContext {
  const address = flags.temporalAddress ?? given(env['TEMPORAL_ADDRESS']);
  const isElsewhere = ['TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'].some((name) => given(env[name]) !== undefined);
  const home = stackHome(env);
  const stack = readDevContext(home);
  const isNamed = address !== undefined || isElsewhere;
  const isOurs = address === undefined ? !isElsewhere : address === stack?.temporal.address;
  const context = merged(flags, env, isOurs ? stack : undefined);
  // Temporal's default address may be another's stack. Who named a state folder, or began a stack, means that one.
  const isMeant = given(env['JOBCTL_HOME']) !== undefined || existsSync(home.recordFile);
  return stack === undefined && !isNamed && isMeant ? { ...context, missingStack: home.root } : context;
}

/** @throws CliError if a local stack is meant that is not there: Temporal's default address would be somebody else's */
export function refuseStranger({ missingStack }: CliContext): void {
  if (missingStack === undefined) return;
  throw new CliError(
    ExitCode.Unavailable,
    `there is no local stack in ${missingStack}`,
    'start it with `jobctl dev up`, or name another Temporal: --temporal-address, TEMPORAL_ADDRESS or TEMPORAL_PROFILE',
  );
}

/** The local stack alone, for `--local`: what the environment says of another Temporal does not count. */
export function localContext(stack: DevContext, flags: ContextFlags, env: NodeJS.ProcessEnv = process.env): CliContext {
  // Its own server takes neither key nor TLS; @temporalio/envconfig would read both from here.
  if (stack.temporal.uiUrl !== null)
    for (const name of Object.keys(env)) if (name.startsWith('TEMPORAL_')) delete env[name];
  return merged({ taskQueue: flags.taskQueue } as ContextFlags, {}, stack);
}

function merged(flags: ContextFlags, env: Environment, stack: DevContext | undefined): CliContext {
  const bucket = flags.bucket ?? given(env['JOBCTL_BUCKET']) ?? stack?.store.bucket;
  const endpoint = flags.storeEndpoint ?? given(env['JOBCTL_STORE_ENDPOINT']) ?? stack?.store.endpoint;
  return {
    temporal: present({
      address: flags.temporalAddress ?? given(env['TEMPORAL_ADDRESS']) ?? stack?.temporal.address,
      namespace: flags.namespace ?? given(env['TEMPORAL_NAMESPACE']) ?? stack?.temporal.namespace,
      codec: codecOf(flags, env) ?? stack?.codec,
    }),
    ...(bucket === undefined ? {} : { store: { bucket, ...present({ endpoint }) } }),
    ...present({
      taskQueue: flags.taskQueue ?? given(env['JOBCTL_TASK_QUEUE']),
      googleProject: flags.googleProject ?? given(env['JOBCTL_GOOGLE_PROJECT']) ?? stack?.googleProject,
      tpuRestEndpoint: flags.tpuRestEndpoint ?? given(env['JOBCTL_TPU_REST_ENDPOINT']) ?? stack?.cloud.tpuRestEndpoint,
      secretStore: flags.secretStore ?? given(env['JOBCTL_SECRET_STORE']) ?? stack?.secretStore,
      ssh: stack?.ssh,
      label: stack?.label,
      uiUrl: stack?.temporal.uiUrl ?? undefined,
    }),
  };
}

function codecOf(flags: ContextFlags, env: Environment): CodecReferences | undefined {
  const key = flags.codecKey ?? given(env['JOBCTL_CODEC_KEY']);
  const others = flags.codecDecodeKeys ?? given(env['JOBCTL_CODEC_DECODE_KEYS']);
  if (key === undefined && others === undefined) return undefined;
  return present({ key, decodeKeys: others === undefined ? undefined : splitReferences(others) });
}

/** @throws CliError where no bucket is known. */
export function storeOf({ store }: CliContext, what: string): NonNullable<CliContext['store']> {
  if (store) return store;
  throw new CliError(
    ExitCode.Usage,
    `no bucket is configured, so ${what}`,
    'jobctl keeps logs and files of jobs in a Google Cloud Storage bucket',
    'name it with --bucket or JOBCTL_BUCKET, or start a local stack with `jobctl dev up`',
  );
}

function given(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

function present<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

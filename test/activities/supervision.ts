import { MockActivityEnvironment } from '@temporalio/testing';
import type { ActivityDependencies } from '../../activities/dependencies.js';
import { Routes } from '../../activities/attempt/routes.js';
import { superviseAttempt } from '../../activities/attempt/supervise.js';
import type { HostConnection, HostTarget } from '../../cloud/hosts/port.js';
import { formatExitRecord, parseExitRecord } from '../../cloud/hosts/runner-client.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { MachineRef } from '../../domain/machines.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { jobFile } from '../end-to-end/job-files.js';

/** What the supervision of an attempt meets, in place of machines, a store and a server. */
export interface Surroundings {
  readonly connect: (target: HostTarget) => HostConnection;
  /** A look at a slice by itself, and one in the listing of its zone. */
  readonly observe: (claim: { readonly ref: MachineRef }) => object;
  readonly watch: (claim: { readonly ref: MachineRef }) => Promise<object>;
  readonly objects: Map<string, string>;
  /** Signals of the job's workflow. */
  readonly told: unknown[];
}

/** One worker's supervision. @returns `cancel`: as the death of the worker, for what it has under way */
export function supervision(
  around: Surroundings,
  input: AttemptInput,
): { end: Promise<AttemptEnd>; cancel: () => void } {
  const handle = { signal: async (_: unknown, news: unknown) => void around.told.push(news) };
  const withAbortSignal = <T>(_: unknown, run: () => T): T => run();
  const client = { workflow: { getHandle: () => handle }, withAbortSignal };
  const environment = new MockActivityEnvironment({ heartbeatTimeoutMs: 60_000 }, { client: client as never });
  const end: Promise<AttemptEnd> = environment.run(() => superviseAttempt(dependenciesOf(around), input, new Routes()));
  return { end, cancel: () => environment.cancel() };
}

function dependenciesOf({ connect, observe, watch, objects }: Surroundings): ActivityDependencies {
  const store = {
    bucket: 'b',
    uploadUrl: (name: string) => `http://store/${name}`,
    objectUrl: (name: string) => `http://store/${name}`,
    list: async (prefix: string) =>
      [...objects.keys()].filter((name) => name.startsWith(prefix)).map((name) => ({ name, size: 1 })),
    read: async (name: string) => (objects.has(name) ? Buffer.from(objects.get(name) ?? '') : undefined),
    write: async (name: string, content: string | Uint8Array) => {
      if (objects.has(name)) return { kind: 'conflict' };
      objects.set(name, Buffer.from(content as Uint8Array).toString());
      return { kind: 'written', generation: '1' };
    },
    stat: async () => undefined,
  };
  return {
    store,
    hosts: {
      connect: async (target: HostTarget) => connect(target),
      readExitRecord: parseExitRecord,
      exitRecord: formatExitRecord,
      release: () => undefined,
    },
    machinesOf: () => ({ observe: async (claim: { readonly ref: MachineRef }) => observe(claim), watch }),
    meter: new Proxy({}, { get: () => () => undefined }),
    installation: {
      owner: 'o',
      publicKey: 'k',
      sshKey: { privateKey: 'k' },
      keys: { publicFingerprint: (key: string) => key },
      jobKeys: { find: () => undefined, secretIds: [] },
      timings: DEFAULT_TIMINGS,
    },
  } as unknown as ActivityDependencies;
}

/** Attempt 1 of the job `train`. @param section of its machines, and what else its file says */
export function attemptInput(section: object, slices: readonly object[], more: object = {}): AttemptInput {
  const { tpu: _tpu, ...file } = jobFile('true');
  const resolved = resolveJob({ ...file, ...section });
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.problems));
  return {
    job: { id: 'train', run: 'r' },
    spec: resolved.spec,
    settings: { publicKey: 'k', timings: DEFAULT_TIMINGS, bucket: 'b', loginUser: 'ann', owner: 'o' },
    attempt: 1,
    slices,
    files: {},
    ...more,
  } as unknown as AttemptInput;
}

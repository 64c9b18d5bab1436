import { z } from 'zod';
import { objectPlace, type StorePort } from '../cloud/store/port.js';
import type { JobRef } from '../contract/workflow-ids.js';
import type { MachineRequest } from '../domain/machine-kinds/registry.js';
import { kindOfJob, machineKind } from '../domain/machines.js';
import { jobKeyObject, runObject } from '../domain/store-layout.js';
import type { ActivityDependencies } from './dependencies.js';

/** The key that the hosts of a job accept. Written once, when the job is first accepted, and never replaced. */
export interface JobKeyRecord {
  readonly v: 1;
  /** OpenSSH line. */
  readonly publicKey: string;
  /** Id of the secret that it is made from, for an operator who removes an old secret. */
  readonly secret: string;
}

const recordForm = z.object({ v: z.literal(1), publicKey: z.string().min(1), secret: z.string() });

/**
 * The public key that the hosts of a job will accept, if its file names no key. It is the same each time that the job is
 * accepted, also when it is reset after the installation got another secret, since its slices may still exist and have the first
 * one.
 * @throws Error, to be tried again, if the record names a key that this worker cannot make
 */
export async function acceptedPublicKey(
  { store, installation }: Pick<ActivityDependencies, 'store' | 'installation'>,
  job: JobRef,
  spec: MachineRequest,
): Promise<string> {
  if (!machineKind(kindOfJob(spec)).takesPublicKey) return installation.publicKey;
  const recorded = await readRecord(store, job);
  if (recorded !== undefined) return knownHere(store, installation, job, recorded);
  const key = installation.jobKeys.newest(job);
  // The job's id is taken. If another job took it, this one is refused next. If this job took it and has no record, it was
  // accepted before there were job keys, or by a worker without a secret, and its slices have the installation's key.
  if (key === undefined || (await store.read(runObject(job.id))) !== undefined) return installation.publicKey;
  const record: JobKeyRecord = { v: 1, publicKey: key.publicKey, secret: key.secretId };
  const written = await store.write(jobKeyObject(job.id, job.run), toJson(record), 'absent', 'application/json');
  if (written.kind === 'written') return key.publicKey;
  // Another worker tries the same, perhaps with another secret.
  return knownHere(store, installation, job, (await readRecord(store, job)) ?? record);
}

async function readRecord(store: StorePort, { id, run }: JobRef): Promise<JobKeyRecord | undefined> {
  const text = (await store.read(jobKeyObject(id, run)))?.toString('utf8');
  if (text === undefined) return undefined;
  const parsed = recordForm.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  throw new Error(`${placeOf(store, { id, run })} is no record of a job's key; remove it if the job has no slices yet`);
}

function knownHere(
  store: StorePort,
  { jobKeys }: ActivityDependencies['installation'],
  job: JobRef,
  { publicKey, secret }: JobKeyRecord,
): string {
  const key = jobKeys.find(job, publicKey);
  if (key !== undefined) return key.publicKey;
  const known = jobKeys.secretIds.length === 0 ? 'none' : jobKeys.secretIds.join(', ');
  throw new Error(
    `its key is made from the job-key secret ${secret} (${placeOf(store, job)}), and this worker has ${known}\n` +
      "  name that secret in ssh.formerJobKeySecrets of the worker's configuration, and start the worker again",
  );
}

const placeOf = (store: StorePort, { id, run }: JobRef): string => objectPlace(store, jobKeyObject(id, run));

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const toJson = (record: JobKeyRecord): string => `${JSON.stringify(record)}\n`;

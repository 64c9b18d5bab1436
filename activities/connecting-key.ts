import { readFile } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import type { SshKey } from '../cloud/hosts/port.js';
import type { AttemptInput } from '../contract/job-activities.js';
import { kindOfJob, machineKind } from '../domain/machines.js';
import { secretNamed } from '../domain/secrets.js';
import { jobKeyObject, runObject } from '../domain/store-layout.js';
import { placeOfObject } from '../domain/store-place.js';
import { objectPlace, type StorePort } from '../cloud/store/port.js';
import type { JobRef } from '../contract/workflow-ids.js';
import type { MachineRequest } from '../domain/machine-kinds/registry.js';
import type { Installation, ActivityDependencies } from './dependencies.js';
import { invalidJob } from './failures.js';
import { secretValue } from './secret-values.js';

interface ConnectingKey extends SshKey {
  /** OpenSSH line. */
  readonly publicKey: string;
}

/** A pair as a job file names it: files of the submitter, or `secret:NAME`. */
interface NamedKeyPair {
  readonly privateKey: string;
  readonly publicKey?: string;
}

/** The hosts of a job accept a key that is neither the installation's nor made from a secret that this worker has. */
export class JobKeyUnknown extends Error {
  override readonly name = 'JobKeyUnknown';
}

/**
 * The key pair that connects to the hosts of a job: the submitter's own if the job names one, else the one that its hosts were
 * made with, which is the job's own or, for an older job, the installation's. Machines without a create request accept the
 * installation's key, whatever the job.
 * @throws InvalidJob as `namedKeyPair` does; JobKeyUnknown
 */
export async function connectingKey(
  installation: Installation,
  { spec, job, settings, slices }: Pick<AttemptInput, 'spec' | 'job' | 'settings' | 'slices'>,
): Promise<ConnectingKey> {
  if (spec.ssh) return submittersKey(installation, spec.ssh);
  const ofInstallation = { ...installation.sshKey, publicKey: installation.publicKey };
  if (!machineKind(kindOfJob(spec)).takesPublicKey) return ofInstallation;
  const { keys, jobKeys } = installation;
  // Hosts of lent slices let in the key of the job that lends them.
  const whose = slices.find(({ landlord }) => landlord !== undefined)?.landlord ?? { job, ...settings };
  const wanted = keys.publicFingerprint(whose.publicKey);
  if (wanted === keys.publicFingerprint(installation.publicKey)) return ofInstallation;
  const key = jobKeys.find(whose.job, whose.publicKey);
  if (key !== undefined)
    return { privateKey: key.privateKey, publicKey: key.publicKey, underOsLogin: installation.sshKey };
  throw new JobKeyUnknown(unknownKeyText(installation, { job, settings, wanted }));
}

/** The pair of the job's `ssh` section. @throws InvalidJob as `namedKeyPair` does */
export const submittersKey = (installation: Installation, ssh: NamedKeyPair): Promise<ConnectingKey> =>
  namedKeyPair(installation, ssh, ['ssh.private_key', 'ssh.public_key']);

function unknownKeyText(
  { keys, publicKey, jobKeys: { secretIds } }: Installation,
  { job, settings, wanted }: Pick<AttemptInput, 'job' | 'settings'> & { readonly wanted: string | undefined },
): string {
  const has = secretIds.length === 0 ? 'it has none' : `it has ${secretIds.join(', ')}`;
  return (
    `its hosts let in the key ${wanted ?? settings.publicKey}, which is neither the installation's own ${keys.publicFingerprint(publicKey)} ` +
    `nor made from a job-key secret of the worker on ${hostname()} (${has}): nobody watches the job until a worker has the secret that ` +
    `${placeOfObject(settings.bucket, jobKeyObject(job.id, job.run))} names, in ssh.formerJobKeySecrets of its configuration`
  );
}

/**
 * Reads a pair that a job names. A secret is read from the installation's store. A file is read in place, so the worker must be
 * able to read it, and only a worker that reads files for jobs does (docs/adr/0044). Either way the private key never leaves the
 * worker except to a host. A missing public half is computed.
 * @param fields keys of the job file that name the two, for messages
 * @throws InvalidJob naming field and file, if one cannot be read or the two are not a pair
 */
export async function namedKeyPair(
  installation: Installation,
  named: NamedKeyPair,
  [privateField, publicField]: readonly [string, string],
): Promise<ConnectingKey> {
  const privateKey = await textOf(installation, named.privateKey, privateField);
  const reading = installation.keys.privateKey(privateKey);
  if (reading.kind === 'no-key') throw invalidJob(`${privateField}: '${named.privateKey}' is ${reading.what}`);
  const publicKey = await publicHalf(installation, named, publicField);
  if (publicKey === undefined) return { privateKey, publicKey: reading.publicKey };
  const fingerprint = installation.keys.publicFingerprint(publicKey);
  if (fingerprint !== reading.fingerprint) {
    throw invalidJob(
      `${publicField}: '${named.publicKey ?? `${named.privateKey}.pub`}' is ${fingerprint ?? 'no public key'}, and ${privateField} '${named.privateKey}' is ${reading.fingerprint}: they are no pair\n` +
        `  hosts would let nobody in; write the public key anew: ssh-keygen -y -f ${named.privateKey}`,
    );
  }
  return { privateKey, publicKey };
}

/** The public half that the job names, else the file beside the private key if there is one. */
async function publicHalf(
  installation: Installation,
  { privateKey, publicKey }: NamedKeyPair,
  field: string,
): Promise<string | undefined> {
  if (publicKey !== undefined) return (await textOf(installation, publicKey, field)).trim();
  if (secretNamed(privateKey) !== undefined) return undefined;
  return readFile(onThisMachine(`${privateKey}.pub`, field), 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
}

async function textOf(installation: Installation, reference: string, field: string): Promise<string> {
  const secret = secretNamed(reference);
  if (secret !== undefined) return secretValue(installation, secret, field);
  if (installation.readsKeyFiles) return readKeyFile(reference, field);
  throw invalidJob(
    `${field}: '${reference}' is a path, and this worker reads no key files\n${remedy(reference, field)}`,
  );
}

/**
 * A key that the hosts of a job get must not be the installation's own, which opens the hosts of every other job.
 * @throws InvalidJob, whichever way the job names that key
 */
export function refuseInstallationKey(
  { keys, publicKey }: Pick<Installation, 'keys' | 'publicKey'>,
  named: { readonly field: string; readonly path: string },
  key: SshKey,
): void {
  const reading = keys.privateKey(key.privateKey);
  if (reading.kind !== 'key' || reading.fingerprint !== keys.publicFingerprint(publicKey)) return;
  throw invalidJob(
    `${named.field}: '${named.path}' is the installation's own key, which no host gets\n` +
      `  make a key for these hosts: ssh-keygen -t ed25519 -N '' -f FILE, then jobctl secret put NAME --from-file FILE`,
  );
}

function onThisMachine(path: string, field: string): string {
  if (path.startsWith('~/')) return join(homedir(), path.slice(2));
  if (isAbsolute(path)) return path;
  throw invalidJob(`${field}: '${path}' must be an absolute path, start with ~/, or be secret:NAME`);
}

async function readKeyFile(path: string, field: string): Promise<string> {
  try {
    return await readFile(onThisMachine(path, field), 'utf8');
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code;
    if (why === undefined) throw error;
    throw invalidJob(`${field}: '${path}' cannot be read by the worker (${why})\n${remedy(path, field)}`);
  }
}

/**
 * The submitter's key under a path that the job names must be the one that this worker reads there: the same path on two
 * computers is two files.
 * @param field the key of the job file that names it, for messages
 * @param claimed fingerprint of the submitter's file; absent: it was not compared
 * @throws InvalidJob with both fingerprints
 */
export function refuseOtherKey(
  { keys }: Pick<Installation, 'keys'>,
  named: { readonly field: string; readonly path: string },
  { privateKey }: SshKey,
  claimed: string | null | undefined,
): void {
  const { field, path } = named;
  // A service's `null` counts as absent.
  if (claimed === undefined || claimed === null || secretNamed(path) !== undefined) return;
  const reading = keys.privateKey(privateKey);
  if (reading.kind === 'key' && reading.fingerprint === claimed) return;
  const ours = reading.kind === 'key' ? reading.fingerprint : reading.what;
  throw invalidJob(
    `${field}: '${path}' is ${claimed} where the job was submitted, and ${ours} on the worker's computer ${hostname()}\n${remedy(path, field)}`,
  );
}

function remedy(path: string, field: string): string {
  const without = field === 'ssh.private_key' ? "; or leave 'ssh' out to connect with the job's own key" : '';
  return (
    `  give the worker yours: jobctl secret put my-key --from-file ${path}\n` +
    `  and write ${field}: secret:my-key${without}`
  );
}

/** The key that the hosts of a job accept. Written once, when the job is first accepted, and never replaced. */
interface JobKeyRecord {
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

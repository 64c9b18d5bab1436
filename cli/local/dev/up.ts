import {
  billedLine,
  isGuarded,
  readStackRecord,
  writeJson,
  type PartName,
  type StackRecord,
} from '../../place/stack/stack-record.js';
import {
  contextOf,
  readDevContext,
  temporalAddressOf,
  workerConfigOf,
  type DevContext,
} from '../../place/stack/context.js';
import { stackHome, type Environment, type StackHome } from '../../terminal/home.js';
import { bringPackages } from '../../place/packages.js';
import { openReservations } from './addresses.js';
import { ensureRunning, type Part } from './part.js';
import { guardedLine } from './guarded-server/guarded-part.js';
import { isEverybodys, isQuotaCurrent, tellMachines } from './own-machines.js';
import { settleCloud, type CloudWish, type StackCloud } from './real-cloud.js';
import { absoluteOrNull, placeOfPrices, settleRecord, type DevUpOptions } from './settle-record.js';
import {
  lockStack,
  isPartReady,
  isRecordedAlive,
  isServerCurrent,
  PART_TITLES,
  partsOf,
  rehearsalPart,
  serverPart,
  slotOf,
  type StartablePart,
  workerPart,
} from './stack-parts.js';
import { asTyped } from '../../terminal/print.js';
import { isOfStore } from '../../../cloud/store/port.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { existsSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { dirname } from 'node:path';
import { makeFolderSync } from '../../../cloud/folders.js';
import { newKeyLine } from '../../../cloud/keys/key-reference.js';
import type { Connection } from '@temporalio/client';
import { readLogin } from '../../../cloud/temporal/login-files.js';
import { claimQueue, foreignQueueText } from '../../../cloud/temporal/queue-claim.js';
import { TASK_QUEUE } from '../../../domain/temporal-server.js';
import { ensureJanitorSchedule, ensureOwner } from '../../../client/installation.js';
import {
  createNamespace,
  DEFAULT_RETENTION_MS,
  raiseRetention,
  retentionOf,
  ensureSearchAttributes,
} from '../../../client/namespace.js';
import { writeNew, writeWhole } from '../../terminal/file-on-disk.js';

export type { DevUpOptions } from './settle-record.js';

/**
 * Starts every part of the state folder's local stack that is not running, and returns once all are ready. Running parts are not
 * touched; dead ones are restarted under their old addresses on their old data. Repeating is safe; a concurrent call waits.
 * @throws Error whose message gives problem, reason and remedy: PartFailed, PortTaken, NoTemporalCli
 */
export async function devUp(options: DevUpOptions = {}): Promise<DevContext> {
  const { env = process.env, onProgress = () => undefined } = options;
  const home = stackHome(env);
  const lock = await lockStack(home, onProgress);
  try {
    const running = await runningAsWanted(home, options);
    if (running !== undefined) {
      const { googleProject } = running;
      if (running.rehearsal === undefined && googleProject !== undefined) onProgress(billedLine({ googleProject }));
      onProgress(`The local stack runs (state folder ${home.root})`);
      if (options.cloud?.kind === 'machines') await tellMachines(running, onProgress);
      return running;
    }
    return await bringUp(home, options, env, onProgress);
  } finally {
    lock.release();
  }
}

/** The fast path: every part runs, answers and is as wanted. */
async function runningAsWanted(home: StackHome, options: DevUpOptions): Promise<DevContext | undefined> {
  const record = readStackRecord(home);
  const context = readDevContext(home);
  if (record === undefined || context === undefined || !isAsWanted(record, options)) return undefined;
  if (isEverybodys(home, record) && !(await isQuotaCurrent(home, record))) return undefined;
  const wanted = partsOf(record);
  if (!wanted.every((name) => isRecordedAlive(record.parts[name])) || !isServerCurrent(home, record)) return undefined;
  const ready = await Promise.all(wanted.map((name) => isPartReady(home, name, record)));
  return ready.every(Boolean) ? context : undefined;
}

function isAsWanted(record: StackRecord, options: DevUpOptions): boolean {
  const { temporalAddress, quotaFile, poolFile, priceFile, codecKey, temporalPort, uiPort, cloud } = options;
  return (
    isCloudAsWanted(record, cloud) &&
    (temporalAddress === undefined || temporalAddress === record.temporalAddress) &&
    (quotaFile === undefined || absoluteOrNull(quotaFile) === record.quotaFile) &&
    (codecKey === undefined || codecKey === (record.codec?.key ?? null)) &&
    (poolFile === undefined || absoluteOrNull(poolFile) === (record.poolFile ?? null)) &&
    (priceFile === undefined || placeOfPrices(priceFile) === (record.priceFile ?? null)) &&
    (temporalPort === undefined || temporalPort === record.addresses.temporal) &&
    (uiPort === undefined || uiPort === record.addresses.temporalUi)
  );
}

function isCloudAsWanted({ realCloud: real, ownMachines }: StackCloud, wish: CloudWish | undefined): boolean {
  if (wish === undefined) return true;
  if (wish.kind === 'machines' || ownMachines !== undefined)
    return (
      wish.kind === 'machines' && ownMachines !== undefined && [undefined, ownMachines.bucket].includes(wish.bucket)
    );
  if (wish.kind === 'rehearsal' || real === undefined) return wish.kind === 'rehearsal' && real === undefined;
  const { googleProject = real.googleProject, bucket = real.bucket, isAlone = real.isAlone ?? false } = wish;
  return googleProject === real.googleProject && bucket === real.bucket && isAlone === (real.isAlone ?? false);
}

async function bringUp(
  home: StackHome,
  options: DevUpOptions,
  env: Environment,
  onProgress: (line: string) => void,
): Promise<DevContext> {
  const known = readStackRecord(home);
  const cloud = await settleCloud({ home, known, wish: options.cloud, env, onProgress, confirm: options.confirm });
  const isRehearsed = cloud.realCloud === undefined && cloud.ownMachines === undefined;
  const rehearsal = isRehearsed ? (['@jobctl/cloud-tpu-rehearsal'] as const) : [];
  await bringPackages(['@jobctl/worker', ...rehearsal], { env, onProgress });
  const reservations = openReservations();
  try {
    const record = await settleRecord(home, options, reservations, cloud, onProgress);
    const start = (name: PartName, part: Part): Promise<void> => startPart(home, name, part, onProgress);
    const context = contextOf(home, record);
    // The rehearsal's own machines let it in from their start.
    await provisionSshKey(context.ssh, home.sshDir);
    const server = await ourServer(home, record, env, onProgress);
    if (server === undefined) onProgress(`Temporal server: ${temporalAddressOf(record)}, as configured`);
    // Waits for both even if one fails, so that every started process is recorded and reported.
    const first = await Promise.allSettled([
      server === undefined ? undefined : start('server', server.part).finally(server.settled),
      isRehearsed ? start('rehearsal', rehearsalPart(home, record, env)) : undefined,
    ]);
    for (const result of first) if (result.status === 'rejected') throw result.reason;
    const owner = await storeWilling(() => provisionStore(context), onProgress);
    await provisionTemporal(context, { isOwnServer: record.temporalAddress === null, owner });
    provisionJobKeySecret(home);
    writeJson(home.workerConfigFile, workerConfigOf(home, record));
    await start('worker', workerPart(home, record, env));
    writeJson(home.contextFile, context);
    if (cloud.realCloud !== undefined) onProgress(REACHES_HOSTS);
    if (isGuarded(record)) onProgress(guardedLine(home, temporalAddressOf(record)));
    if (record.realCloud?.isAlone === true) onProgress(UNGUARDED);
    if (record.codec?.key !== undefined) onProgress(ENCRYPTED);
    if (cloud.ownMachines !== undefined) await tellMachines(context, onProgress);
    onProgress(context.temporal.uiUrl === null ? 'Ready' : `Ready. Temporal Web UI: ${context.temporal.uiUrl}`);
    return context;
  } finally {
    reservations.release();
  }
}

/**
 * Retries the store: one that refuses a few reads, or starts to answer a moment late, must not leave a stack half up.
 * @throws the store's last error, after `STORE_TRIES`, with a note about the part that is not running
 */
export async function storeWilling<T>(call: () => Promise<T>, onProgress: (line: string) => void, pauseMs = 1_000) {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!isOfStore(error)) throw error;
      if (tries === STORE_TRIES) {
        error.message += asTyped('\n  The worker is not started; `jobctl dev up` goes on from here');
        throw error;
      }
      onProgress(`The store does not answer as it should (${error.message}): trying again`);
      await sleep(pauseMs);
    }
  }
}

const STORE_TRIES = 10;

const ENCRYPTED = asTyped(
  'Payloads are encrypted; for the Web UI to show them: jobctl codec serve (docs/encryption.md)',
);

const REACHES_HOSTS =
  'The worker here logs in to hosts on port 22 of their external addresses; with tpu.external_ips: false it has to run inside their network';

const UNGUARDED =
  'WARNING: every login of this computer can submit jobs with your Google credentials: the dev server asks nobody who calls (--i-am-alone-here)';

/** The stack's own server; undefined if an address is configured. Its executable is found before any part is started. */
async function ourServer(
  home: StackHome,
  record: StackRecord,
  env: Environment,
  onProgress: (line: string) => void,
): Promise<StartablePart | undefined> {
  if (record.temporalAddress !== null) return undefined;
  const find = isGuarded(record) ? findGuardedServer : resolveCliPath;
  let found: Promise<string> | undefined;
  const path = (): Promise<string> => (found ??= find(env, onProgress));
  if (!isRecordedAlive(record.parts.server) || !isServerCurrent(home, record)) await path();
  return serverPart(home, record, path, env);
}

async function findGuardedServer(env: Environment, onProgress: (line: string) => void): Promise<string> {
  const { findServer } = await import('./guarded-server/find-server.js');
  return findServer(env, onProgress);
}

async function resolveCliPath(env: Environment, onProgress: (line: string) => void): Promise<string> {
  const { resolveTemporalCli } = await import('./temporal-server/resolve.js');
  return (await resolveTemporalCli({ env, onProgress })).path;
}

async function startPart(
  home: StackHome,
  name: PartName,
  part: Part,
  onProgress: (line: string) => void,
): Promise<void> {
  const slot = slotOf(home, name);
  const how = await ensureRunning(part, slot);
  onProgress(`${PART_TITLES[name]}: ${how} (process ${slot.read()?.identity.pid})`);
}

/** Prepares a stack's store and Temporal. Each step can be repeated. */

/** Creates the job bucket and in it the installation's owner id; returns the id. */
async function provisionStore({ store, googleProject, rehearsal }: DevContext): Promise<string> {
  const { ensureStore, openStore } = await import('../../../cloud/store/open-store.js');
  const options = { ...store, ...(googleProject !== undefined && { projectId: googleProject }) };
  // A real bucket is created only if the user agreed, in the region of the zone that they named.
  if (rehearsal !== undefined || store.bucket.startsWith('file:')) await ensureStore(options);
  return (await ensureOwner(openStore(options))).id;
}

/** Sets up search attributes, the claim on the task queue, the janitor's schedule and, for our own server, the retention. */
async function provisionTemporal(
  { temporal }: DevContext,
  { isOwnServer, owner }: { readonly isOwnServer: boolean; readonly owner: string },
): Promise<void> {
  const { Client, Connection } = await import('@temporalio/client');
  const login = readLogin(temporal);
  const connection = await Connection.connect({ address: temporal.address, connectTimeout: '5s', ...login }).catch(
    (err: unknown) => {
      const why = (err as Error).message;
      throw new Error(
        `Temporal at ${temporal.address} cannot be reached (${why}); is the address right, does the server run? ` +
          'For a server of our own: jobctl dev up --no-temporal-address',
      );
    },
  );
  try {
    if (login.apiKey !== undefined) await ensureNamespace(connection, temporal.namespace);
    await ensureSearchAttributes(connection, temporal.namespace);
    if (isOwnServer) await raiseRetention(connection, temporal.namespace, DEFAULT_RETENTION_MS);
    const client = new Client({ connection, namespace: temporal.namespace });
    const place = { connection, namespace: temporal.namespace, taskQueue: TASK_QUEUE };
    const holder = await claimQueue(place, owner);
    if (holder !== owner) throw new Error(`Temporal at ${temporal.address}: ${foreignQueueText(place, holder, owner)}`);
    await ensureJanitorSchedule(client, TASK_QUEUE);
  } finally {
    await connection.close();
  }
}

/** Creates the secret that the keys of the stack's jobs are made from; an existing one is kept. Older jobs keep their key. */
function provisionJobKeySecret({ jobKeySecretFile }: StackHome): void {
  makeFolderSync(dirname(jobKeySecretFile), 0o700);
  try {
    writeNew(jobKeySecretFile, `${newKeyLine(new Date())}\n`, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Creates the namespace of the guarded server; the dev server creates it itself. */
async function ensureNamespace(connection: Connection, namespace: string): Promise<void> {
  const isThere = (await retentionOf(connection, namespace)) !== undefined;
  if (!isThere) await createNamespace(connection, namespace, DEFAULT_RETENTION_MS);
}

/** Creates the key pair with which the stack's worker logs in; an existing one is kept. */
async function provisionSshKey({ privateKeyFile, publicKeyFile }: DevContext['ssh'], folder: string): Promise<void> {
  if (existsSync(privateKeyFile) && existsSync(publicKeyFile)) return;
  const pair = await generateKeyPair(`jobctl-dev ${userInfo().username}@${hostname()}`);
  makeFolderSync(folder, 0o700);
  writeWhole(privateKeyFile, pair.private, 0o600);
  writeWhole(publicKeyFile, `${pair.public}\n`, 0o644);
}

const KEY_TRIES = 10;

async function generateKeyPair(comment: string): Promise<{ readonly private: string; readonly public: string }> {
  const { default: ssh2 } = await import('ssh2');
  for (let i = 0; i < KEY_TRIES; i++) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519', { comment });
    // ssh2 cannot read about 15 in 4000 of the ed25519 keys that it makes (docs/facts.md, "gcloud and the VMs").
    const isReadable = [pair.private, pair.public].every((key) => !(ssh2.utils.parseKey(key) instanceof Error));
    if (isReadable) return pair;
  }
  throw new Error(`ssh2 made ${KEY_TRIES} ed25519 key pairs that it cannot read itself; is it version 1.17?`);
}

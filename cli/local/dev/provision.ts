import { existsSync, mkdirSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { dirname } from 'node:path';
import { newKeyLine } from '../../../cloud/keys/key-line.js';
import type { Connection } from '@temporalio/client';
import { readLogin } from '../../../cloud/temporal/login-files.js';
import { claimQueue, foreignQueueText } from '../../../cloud/temporal/queue-claim.js';
import { TASK_QUEUE } from '../../../domain/own-workflows.js';
import { ensureJanitorSchedule, ensureOwner, JANITOR_EVERY_MS } from '../../../client/installation.js';
import { createNamespace, DEFAULT_RETENTION_MS, raiseRetention, retentionOf } from '../../../client/namespace.js';
import { ensureSearchAttributes } from '../../../client/search-attributes.js';
import type { DevContext } from '../../place/stack/context.js';
import type { StackHome } from '../../terminal/home.js';
import { writeNew, writeWhole } from '../../terminal/file-on-disk.js';

/** Prepares a stack's store and Temporal. Each step can be repeated. */

/** Creates the job bucket and in it the installation's owner id; returns the id. */
export async function provisionStore({ store, googleProject, rehearsal }: DevContext): Promise<string> {
  const { createStore, ensureBucket } = await import('../../../cloud/store/gcs.js');
  const options = { ...store, projectId: googleProject };
  // A real bucket is created only if the user agreed, in the region of the zone that they named.
  if (rehearsal !== undefined) await ensureBucket(options);
  return (await ensureOwner(createStore(options))).id;
}

/** Interval on a rehearsal, whose resources are cheap to list. */
const REHEARSED_SWEEP_EVERY_MS = 60_000;

/** Sets up search attributes, the claim on the task queue, the janitor's schedule and, for our own server, the retention. */
export async function provisionTemporal(
  { temporal, rehearsal }: DevContext,
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
    const everyMs = rehearsal === undefined ? JANITOR_EVERY_MS : REHEARSED_SWEEP_EVERY_MS;
    await ensureJanitorSchedule(client, { taskQueue: TASK_QUEUE, everyMs });
  } finally {
    await connection.close();
  }
}

/** Creates the secret that the keys of the stack's jobs are made from; an existing one is kept. Older jobs keep their key. */
export function provisionJobKeySecret({ jobKeySecretFile }: StackHome): void {
  mkdirSync(dirname(jobKeySecretFile), { recursive: true, mode: 0o700 });
  try {
    writeNew(jobKeySecretFile, `${newKeyLine(new Date())}\n`, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** For our own server; the dev server creates the namespace itself. */
async function ensureNamespace(connection: Connection, namespace: string): Promise<void> {
  const isThere = (await retentionOf(connection, namespace)) !== undefined;
  if (!isThere) await createNamespace(connection, namespace, DEFAULT_RETENTION_MS);
}

/** Creates the key pair with which the stack's worker logs in; an existing one is kept. */
export async function provisionSshKey(
  { privateKeyFile, publicKeyFile }: DevContext['ssh'],
  folder: string,
): Promise<void> {
  if (existsSync(privateKeyFile) && existsSync(publicKeyFile)) return;
  const pair = await generateKeyPair(`jobctl-dev ${userInfo().username}@${hostname()}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
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

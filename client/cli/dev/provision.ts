import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import type { Connection } from '@temporalio/client';
import type { StorePort } from '../../../cloud/store/port.js';
import { ownerObject } from '../../../domain/store-layout.js';
import { TASK_QUEUE } from '../../../workflows/messages.js';
import { ensureJanitorSchedule } from '../../janitor-schedule.js';
import { ensureSearchAttributes } from '../../search-attributes.js';
import type { DevContext } from './context.js';

/** What a stack needs beside its processes. Each step can be repeated. */

const OWNER_BYTES = 6;
const DAY_S = 86_400;
/** A day is the dev server's own; people look at last week's jobs. */
const RETENTION_S = 30 * DAY_S;

/** The job bucket, and in it the installation's owner id; returns the id. */
export async function provisionStore({ store, googleProject }: DevContext): Promise<string> {
  const { createStore, ensureBucket } = await import('../../../cloud/store/gcs.js');
  const options = { ...store, projectId: googleProject };
  await ensureBucket(options);
  return ensureOwner(createStore(options));
}

/**
 * The random id that every resource of this installation carries (DESIGN.md 2), 12 hexadecimal digits. Made once; two that
 * make it at the same time get the same one.
 */
export async function ensureOwner(store: StorePort): Promise<string> {
  const before = await store.read(ownerObject);
  if (before !== undefined) return before.toString('utf8').trim();
  const owner = randomBytes(OWNER_BYTES).toString('hex');
  const { kind } = await store.write(ownerObject, owner, 'absent', 'text/plain');
  if (kind === 'written') return owner;
  const other = await store.read(ownerObject);
  if (other === undefined)
    throw new Error(`${ownerObject} in bucket ${store.bucket}: was removed while it was being made`);
  return other.toString('utf8').trim();
}

/** The local stack's janitor sweeps every minute: its resources are cheap to list. */
const SWEEP_EVERY_MS = 60_000;

/** Search attributes, the janitor's schedule, and for a server of our own the time that closed workflows are kept. */
export async function provisionTemporal({ temporal }: DevContext, isOwnServer: boolean): Promise<void> {
  const { Client, Connection } = await import('@temporalio/client');
  const connection = await Connection.connect({ address: temporal.address, connectTimeout: '5s' }).catch(
    (err: unknown) => {
      const why = (err as Error).message;
      throw new Error(
        `Temporal at ${temporal.address} cannot be reached (${why}); is the address right, does the server run? ` +
          'For a server of our own: jobctl dev up --no-temporal-address',
      );
    },
  );
  try {
    await ensureSearchAttributes(connection, temporal.namespace);
    if (isOwnServer) await ensureRetention(connection, temporal.namespace);
    const client = new Client({ connection, namespace: temporal.namespace });
    await ensureJanitorSchedule(client, { taskQueue: TASK_QUEUE, everyMs: SWEEP_EVERY_MS });
  } finally {
    await connection.close();
  }
}

async function ensureRetention({ workflowService }: Connection, namespace: string): Promise<void> {
  const { config } = await workflowService.describeNamespace({ namespace });
  if (Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) >= RETENTION_S) return;
  const { msToTs } = await import('@temporalio/common/lib/time.js');
  const workflowExecutionRetentionTtl = msToTs(RETENTION_S * 1_000);
  await workflowService.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl } });
}

/** The key pair that the stack's worker logs in with; an existing one is kept. */
export async function provisionSshKey(
  { privateKeyFile, publicKeyFile }: DevContext['ssh'],
  folder: string,
): Promise<void> {
  if (existsSync(privateKeyFile) && existsSync(publicKeyFile)) return;
  const pair = await generateKeyPair(`jobctl-dev ${userInfo().username}@${hostname()}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(privateKeyFile, pair.private, { mode: 0o600 });
  writeFileSync(publicKeyFile, `${pair.public}\n`, { mode: 0o644 });
}

const KEY_TRIES = 10;

async function generateKeyPair(comment: string): Promise<{ readonly private: string; readonly public: string }> {
  const { default: ssh2 } = await import('ssh2');
  for (let i = 0; i < KEY_TRIES; i++) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519', { comment });
    // About 15 in 4000 of its ed25519 keys it cannot read itself (facts: cloud-tpu.md 6).
    const isReadable = [pair.private, pair.public].every((key) => !(ssh2.utils.parseKey(key) instanceof Error));
    if (isReadable) return pair;
  }
  throw new Error(`ssh2 made ${KEY_TRIES} ed25519 key pairs that it cannot read itself; is it version 1.17?`);
}

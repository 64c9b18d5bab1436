import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { poolState } from '../end-to-end/pool-watch.js';
import type { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { until } from '../until.js';

/** Pids of every process of every TPU VM, by the machine's own numbers. */
export async function vmInits(admin: RehearsalAdmin): Promise<readonly number[]> {
  return (await admin.status()).nodes.flatMap(({ hosts }) => hosts.flatMap(({ init }) => init ?? []));
}

/** By the cloud's own word and the quota workflow's, of pool `default`; `inits`: the VMs' processes that have to be gone. */
export async function nothingIsLeft(stack: TestStack, admin: RehearsalAdmin, inits: readonly number[]): Promise<void> {
  await until(
    'no node, no queued resource, no lease',
    async () => {
      const { nodes, queuedResources } = await admin.status();
      const pool = await poolState(stack.client, 'default');
      return nodes.length + queuedResources.length === 0 && pool?.leases.length === 0 && pool.waiting.length === 0;
    },
    60_000,
  );
  for (const pid of inits) assert.ok(!existsSync(`/proc/${pid}`), `process ${pid} of a TPU VM lives on`);
}

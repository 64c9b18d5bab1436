import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { until } from '../until.js';
import { poolState } from './pool-watch.js';
import type { RehearsalAdmin } from './rehearsal-admin.js';
import type { TestStack } from './test-stack.js';

/** Pids of every process of every TPU VM, by the machine's own numbers. */
export async function vmInits(admin: RehearsalAdmin): Promise<readonly number[]> {
  return (await admin.status()).nodes.flatMap(({ hosts }) => hosts.flatMap(({ init }) => init ?? []));
}

/** No node, no queued resource and no VM, by the cloud's own word. */
export async function cloudIsEmpty(admin: RehearsalAdmin, withinMs?: number): Promise<void> {
  const isEmpty = async (): Promise<boolean> => {
    const { nodes, queuedResources, vms } = await admin.status();
    return nodes.length + queuedResources.length + vms.length === 0;
  };
  await until('the cloud is empty', isEmpty, withinMs);
}

/** By the cloud's own word and the quota workflow's; `inits`: the VMs' processes that have to be gone. */
export async function nothingIsLeft(
  stack: TestStack,
  admin: RehearsalAdmin,
  inits: readonly number[],
  pool = 'default',
): Promise<void> {
  await until(
    'no node, no queued resource, no lease',
    async () => {
      const { nodes, queuedResources } = await admin.status();
      const state = await poolState(stack.client, pool);
      return nodes.length + queuedResources.length === 0 && state?.leases.length === 0 && state.waiting.length === 0;
    },
    60_000,
  ).catch(async (error: unknown) => {
    const left = [await admin.status(), await poolState(stack.client, pool)].map((part) => JSON.stringify(part));
    throw new Error([String(error), ...left, stack.tail(20)].join('\n'), { cause: error });
  });
  for (const pid of inits) assert.ok(!existsSync(`/proc/${pid}`), `process ${pid} of a TPU VM lives on`);
}

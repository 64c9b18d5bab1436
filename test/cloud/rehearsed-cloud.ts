import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCloudTpu, type CloudTpuOptions } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import { type ComputeEngineOptions, createComputeEngine } from '../../cloud/machines/compute-engine/compute-engine.js';

import { startTestRehearsal } from '../../rehearsal/test/test-rehearsal.js';

export interface JournalLine {
  readonly seq: number;
  readonly kind: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A rehearsal of its own for one test file, reached over the wire alone. */
export interface RehearsedCloud {
  readonly tpu: { readonly host: string; readonly port: number; readonly insecure: true; readonly rest: string };
  readonly restEndpoint: string;
  readonly storeEndpoint: string;
  /** A port on it, closed with it. Short periods and no budget, unless `options` says otherwise. */
  tpuPort(options?: CloudTpuOptions): ReturnType<typeof createCloudTpu>;
  computePort(options?: ComputeEngineOptions): ReturnType<typeof createComputeEngine>;
  admin(verb: string, body?: object): Promise<void>;
  takeBack(verb: string): Promise<void>;
  journal(after?: number): Promise<readonly JournalLine[]>;
  stop(): Promise<void>;
}

const UNBOUNDED = { callsPerSecond: 10_000, burst: 10_000 };

export async function startRehearsedCloud(): Promise<RehearsedCloud> {
  const stateDir = await mkdtemp(join(tmpdir(), 'store-tpu-test-'));
  const rehearsal = await startTestRehearsal({
    stateDir,
    tpuPort: 0,
    restPort: 0,
    storePort: 0,
    adminPort: 0,
  });
  const { tpu, rest, store, admin } = rehearsal.endpoints;
  const [host = '', port = ''] = tpu.split(':');
  const endpoint = { host, port: Number(port), insecure: true, rest } as const;
  const opened: { close(): Promise<void> }[] = [];
  return {
    tpu: endpoint,
    restEndpoint: rest,
    storeEndpoint: store,
    tpuPort(options) {
      const port = createCloudTpu({ endpoint, budget: UNBOUNDED, periods: { urgentMs: 50, quietMs: 200 }, ...options });
      opened.push(port);
      return port;
    },
    computePort(options) {
      const periods = { urgentMs: 50, quietMs: 200 };
      const port = createComputeEngine({ endpoint: rest, budget: UNBOUNDED, periods, ...options });
      opened.push(port);
      return port;
    },
    admin: (verb, body) => call(admin, 'POST', verb, body),
    takeBack: (verb) => call(admin, 'DELETE', verb),
    journal: async (after = 0) => {
      const text = await (await fetch(`${admin}/admin/journal?after=${after}`)).text();
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as JournalLine);
    },
    async stop() {
      await Promise.all(opened.map((port) => port.close()));
      await rehearsal.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

async function call(admin: string, method: string, verb: string, body: object = {}): Promise<void> {
  const content =
    method === 'POST' ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {};
  const response = await fetch(`${admin}/admin/${verb}`, { method, ...content });
  if (!response.ok) throw new Error(`${method} /admin/${verb}: HTTP ${response.status}: ${await response.text()}`);
}

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { v2 } from '@google-cloud/tpu';
import { PassThroughClient } from 'google-auth-library';
import { grpc } from 'google-gax';
import type { RehearsalEndpoints, Settings } from '../../rehearsal/index.js';

export type TpuClient = InstanceType<typeof v2.TpuClient>;
export const PARENT = 'projects/p/locations/us-central1-a';

const MAIN = fileURLToPath(new URL('../../rehearsal/dist/main.js', import.meta.url));
const SSH_PORT = 2222;
const SUBNET_OCTET = 60;

/** A rehearsal as users run it: built, in its own process. `stop` deletes its state folder. */
export interface BenchRehearsal {
  readonly pid: number;
  readonly endpoints: RehearsalEndpoints;
  /** Google's own client, over gRPC. */
  readonly client: TpuClient;
  admin(verb: string, body: object): Promise<unknown>;
  stop(): Promise<void>;
}

/** @param settings override the defaults */
export async function startBenchRehearsal(settings: Partial<Settings>): Promise<BenchRehearsal> {
  const stateDir = mkdtempSync(join(tmpdir(), 'jobctl-bench-'));
  const child = spawn(
    process.execPath,
    [
      MAIN,
      '--state-dir',
      stateDir,
      '--ssh-port',
      `${SSH_PORT}`,
      '--subnet-octet',
      `${SUBNET_OCTET}`,
      '--callers',
      'login',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    child.once('exit', (code) => reject(new Error(`${MAIN}: ended with ${code}; npm run build first`)));
  });
  const endpoints = JSON.parse(line) as RehearsalEndpoints;
  const admin = async (verb: string, body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${endpoints.admin}/admin/${verb}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`/admin/${verb}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  await admin('configure', settings);
  const client = tpuClient(endpoints);
  const stop = async (): Promise<void> => {
    await client.close();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
    rmSync(stateDir, { recursive: true, force: true });
  };
  return { pid: child.pid as number, endpoints, client, admin, stop };
}

function tpuClient(endpoints: RehearsalEndpoints): TpuClient {
  return new v2.TpuClient({
    apiEndpoint: '127.0.0.1',
    port: Number(endpoints.tpu.split(':')[1]),
    sslCreds: grpc.credentials.createInsecure(),
    // gax types its own copy of the auth library; the client is the same to it.
    authClient: new PassThroughClient() as never,
  });
}

const NOT_FOUND = 5;

/** State of a queued resource by its full name; `gone` if it does not exist. */
export async function stateOf(client: TpuClient, name: string): Promise<string> {
  const [found] = await client.getQueuedResource({ name }).catch((error: { readonly code?: number }) => {
    if (error.code === NOT_FOUND) return [undefined];
    throw error;
  });
  return found === undefined ? 'gone' : String(found.state?.state);
}

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processMemory } from '../load/process-memory.js';
import type { BenchRehearsal } from './rehearsal-process.js';
import { PARENT, startBenchRehearsal } from './rehearsal-process.js';
import type { Row } from './row.js';
import { megabytes, seconds } from './row.js';

const SLICES = 16;
/** 64 TPU VMs in each slice. */
const TYPE = 'v5litepod-256';
const HOSTS = 1024;

/** Measures 1,024 TPU VMs in one process: time until all are READY, memory then, 64 simultaneous logins by OpenSSH's client. */
export async function manyHosts(): Promise<readonly Row[]> {
  const rehearsal = await startBenchRehearsal({ provisioningMs: 0 });
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-bench-key-'));
  try {
    const key = join(folder, 'key');
    spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key], { stdio: 'inherit' });
    const empty = processMemory(rehearsal.pid).bytes;
    const began = performance.now();
    const addresses = await createSlices(rehearsal, readFileSync(`${key}.pub`, 'utf8').trim());
    const readyMs = performance.now() - began;
    if (addresses.length !== HOSTS) throw new Error(`${addresses.length} hosts, wanted ${HOSTS}`);
    const idle = await settledMemory(rehearsal.pid);
    const one = await loginTimes(addresses.slice(0, 1), rehearsal.endpoints.sshPort, key);
    const first = await loginTimes(addresses.slice(64, 128), rehearsal.endpoints.sshPort, key);
    const again = await loginTimes(addresses.slice(64, 128), rehearsal.endpoints.sshPort, key);
    return [
      {
        what: '1,024 hosts, first create until all are READY',
        figure: seconds(readyMs),
        aim: '2 s',
        isMet: readyMs <= 2000,
      },
      { what: '  resident, empty', figure: megabytes(empty) },
      { what: '  resident, idle', figure: megabytes(idle), aim: '150 MB', isMet: idle <= 150_000_000 },
      { what: '`ssh HOST true`: one alone, its first login', figure: seconds(one.wallMs) },
      { what: '  64 hosts at once, first logins (succeeded)', figure: `${seconds(first.wallMs)} (${first.succeeded})` },
      { what: '  the same 64 again', figure: `${seconds(again.wallMs)} (${again.succeeded})` },
      { what: '  resident after them', figure: megabytes(processMemory(rehearsal.pid).bytes) },
    ];
  } finally {
    await rehearsal.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns the hosts' addresses */
async function createSlices({ client }: BenchRehearsal, publicKey: string): Promise<readonly string[]> {
  const metadata = { 'ssh-keys': `bench:${publicKey}` };
  const slices = Array.from({ length: SLICES }, async (_, index) => {
    const node = { acceleratorType: TYPE, runtimeVersion: 'v2-alpha-tpuv5-lite', metadata };
    const [operation] = await client.createNode({ parent: PARENT, nodeId: `bench-${index}`, node });
    await operation.promise();
    const [made] = await client.getNode({ name: `${PARENT}/nodes/bench-${index}` });
    return (made.networkEndpoints ?? []).map((endpoint) => endpoint.ipAddress ?? '');
  });
  return (await Promise.all(slices)).flat();
}

/** The lowest of five readings in 5 s, since memory that the garbage collector has not freed yet does not count. */
async function settledMemory(pid: number): Promise<number> {
  const looks: number[] = [];
  for (let look = 0; look < 5; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    looks.push(processMemory(pid).bytes);
  }
  return Math.min(...looks);
}

async function loginTimes(
  addresses: readonly string[],
  port: number,
  key: string,
): Promise<{ readonly wallMs: number; readonly succeeded: number }> {
  const began = performance.now();
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR', 'IdentitiesOnly=yes'];
  const flags = ['-F', '/dev/null', '-n', '-i', key, '-p', `${port}`, ...options.flatMap((option) => ['-o', option])];
  const codes = await Promise.all(
    addresses.map(
      (address) =>
        new Promise<number | null>((resolve) => {
          spawn('ssh', [...flags, `bench@${address}`, 'true'], { stdio: 'ignore' }).once('close', resolve);
        }),
    ),
  );
  return { wallMs: performance.now() - began, succeeded: codes.filter((code) => code === 0).length };
}

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../temporal-server.js';
import { Hopeless, until } from '../until.js';

/** A real server that speaks S3, on loopback. */
export interface S3Server {
  readonly endpoint: string;
  /** AWS_*: who may, and where it is. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const KEYS = { AWS_ACCESS_KEY_ID: 'jobctl-test', AWS_SECRET_ACCESS_KEY: 'jobctl-test-secret', AWS_REGION: 'us-east-1' };

const KINDS: Readonly<Record<string, (port: number, folder: string) => readonly string[]>> = {
  // github.com/versity/versitygw, over a folder of its own.
  versitygw: (port, folder) => [
    ...['--port', `127.0.0.1:${port}`, '--access', KEYS.AWS_ACCESS_KEY_ID, '--secret', KEYS.AWS_SECRET_ACCESS_KEY],
    ...['--quiet', 'posix', folder],
  ],
  // moto[server] of PyPI.
  moto_server: (port) => ['-H', '127.0.0.1', '-p', String(port)],
};

/**
 * Loaded by Python as it starts: moto answers one request at a time. With a thread for each, it looks whether a name is free and
 * writes in two steps, and of writes that must create, two can succeed: its fault alone, where a real store decides in one.
 */
const ONE_AT_A_TIME = `
from werkzeug import serving
make_server = serving.make_server
def make_single(host, port, app, threaded, *args, **named):
    return make_server(host, port, app, False, *args, **named)
serving.make_server = make_single
`;

/** Programs that are installed here. `.ci/run` installs them. */
export const s3Programs = (): readonly string[] => Object.keys(KINDS).filter(isInstalled);

function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export async function startS3Server(program: string): Promise<S3Server> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-s3-'));
  mkdirSync(join(folder, 'objects'));
  const args = KINDS[program]?.(port, join(folder, 'objects')) ?? [];
  writeFileSync(join(folder, 'sitecustomize.py'), ONE_AT_A_TIME);
  const child = spawn(program, args, { stdio: 'ignore', env: { ...process.env, PYTHONPATH: folder } });
  const endpoint = `http://127.0.0.1:${port}`;
  await until(
    `${program} answers`,
    async () => {
      if (child.exitCode !== null) throw new Hopeless(`${program} ended with code ${child.exitCode}`);
      return fetch(endpoint).then(
        () => true,
        () => false,
      );
    },
    60_000,
  );
  return {
    endpoint,
    environment: { ...KEYS, AWS_ENDPOINT_URL_S3: endpoint },
    stop: async () => {
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await end;
}

/** Of this process, until the function that is returned is called. */
export function useEnvironment(values: Readonly<Record<string, string>>): () => void {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, values);
  return () => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  };
}

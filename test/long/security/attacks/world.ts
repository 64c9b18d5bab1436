import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Ended } from '../../../cli/command-line.js';
import { TestStack } from '../../../end-to-end/test-stack.js';
import { quotaFileText } from '../../../quota/quota-file-text.js';
import { ServerStack } from '../../../server/server-stack.js';
import type { Attacked, AttackedStack } from './attack.js';
import { ROOT } from './old-tree.js';

const POOL = 'attacked';
const NAMES = { alice: 'alice', mallory: 'mallory', operator: 'olga' } as const;
const LOGINS = { alice: 'alice@example.org', mallory: 'mallory@example.org', operator: 'olga@example.org' } as const;
const QUOTA = quotaFileText({ v5litepod: 64 }, { vision: { members: ['.*'], share: 1 } });
const POOL_FILE = `zones = ["us-central1-a"]\n[quota]\nadmins = ["${NAMES.operator}"]\n`;
/** What the old pool file has no words for. */
const RULES = '[allow]\n[limits]\nopen_jobs_per_user = 2\n';

export interface World {
  readonly of: Readonly<Record<'trusted' | 'verified', Attacked>>;
  stop(): Promise<void>;
}

/** One stack, since the old tree has one mode. */
export async function oldWorld(root: string): Promise<World> {
  const scratch = scratchFolders();
  const stack = await trustedStack(await stackOf(root), '');
  const attacked = {
    root,
    isOld: true,
    pool: POOL,
    people: NAMES,
    stack,
    scratch: scratch.make,
    cli: cliByName(root, stack),
  };
  return { of: { trusted: attacked, verified: attacked }, stop: () => stack.stop().finally(scratch.remove) };
}

export async function worldOfToday(): Promise<World> {
  const scratch = scratchFolders();
  const server = await ServerStack.start();
  const trusted = await trustedStack(TestStack, RULES);
  const of = { root: ROOT, isOld: false, scratch: scratch.make };
  return {
    of: {
      trusted: { ...of, pool: POOL, people: NAMES, stack: trusted, cli: cliByName(ROOT, trusted) },
      verified: {
        ...of,
        pool: 'default',
        people: LOGINS,
        stack: server.stack,
        cli: await cliByLogin(server, scratch.make()),
      },
    },
    stop: async () => {
      await trusted.stop();
      await server.stop();
      scratch.remove();
    },
  };
}

type Stack = Pick<typeof TestStack, 'start'>;

/** Of another tree, with its own packages. */
async function stackOf(root: string): Promise<Stack> {
  const file = pathToFileURL(join(root, 'test/end-to-end/test-stack.ts')).href;
  return ((await import(file)) as { TestStack: Stack }).TestStack;
}

/** By the tree's own test stack, which is the worker, the rehearsal and the Temporal server that the tree ships. */
const trustedStack = (stack: Stack, rules: string): Promise<AttackedStack> =>
  // Key files: as on a worker of a team.
  stack.start({ pool: POOL, quota: QUOTA, poolFile: `${POOL_FILE}${rules}`, readsKeyFiles: false });

const cliByName = (root: string, { server, taskQueue, store, rehearsal }: AttackedStack): Attacked['cli'] => {
  const places = {
    ...{ TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: server.namespace, JOBCTL_TASK_QUEUE: taskQueue },
    ...{ JOBCTL_BUCKET: store.bucket, JOBCTL_STORE_ENDPOINT: rehearsal.endpoints.store },
  };
  return (who, ...args) => programOf(root, args, { ...places, USER: who, LOGNAME: who, HOME: '/nonexistent' });
};

async function cliByLogin(server: ServerStack, home: string): Promise<Attacked['cli']> {
  const people = new Map<string, Readonly<Record<string, string>>>();
  for (const email of Object.values(LOGINS)) {
    const own = { HOME: join(home, email), JOBCTL_HOME: join(home, email, 'jobctl') };
    const env = { ...own, JOBCTL_SERVER: server.urls[0] ?? '', T: await server.issuer.token({ email }) };
    mkdirSync(env.HOME);
    const login = await programOf(ROOT, ['login', '--id-token-from', 'env:T'], env);
    if (login.exitCode !== 0) throw new Error(login.stderr);
    people.set(email, env);
  }
  return (who, ...args) => programOf(ROOT, args, people.get(who));
}

/** What a user has installed: the build of the tree, and nothing of this process's environment. */
export function programOf(
  root: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [join(root, 'dist/cli/main.js'), ...args], {
    env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', JOBCTL_HOME: '/nonexistent/jobctl', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (out.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (out.stderr += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, ...out }));
  });
}

function scratchFolders(): { make(): string; remove(): void } {
  const folders: string[] = [];
  return {
    make: () => {
      const folder = mkdtempSync(join(tmpdir(), 'jobctl-attack-'));
      folders.push(folder);
      return folder;
    },
    remove: () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })),
  };
}

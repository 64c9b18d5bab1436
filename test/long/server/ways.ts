import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { JobInvalid, JobNameTaken } from '../../../client/errors.js';
import { JobClient } from '../../../client/job-client.js';
import { type Ended, jobctl } from '../../cli/command-line.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import type { InstalledWheel } from '../../python/wheel.js';
import type { ServerStack } from '../../server/server-stack.js';

/** How a job ended, or why there is none, as this way says it. */
export type Told =
  | { readonly kind: 'ended'; readonly exitCode: number | null | undefined; readonly log: string }
  | { readonly kind: 'refused'; readonly problem: string };

export interface Way {
  readonly name: string;
  /** Submits the job under this id and waits for its end. */
  run(job: object, id: string): Promise<Told>;
}

/** What all ways of one stack need. */
export interface Place {
  readonly stack: ServerStack;
  readonly wheel: InstalledWheel;
  readonly folder: string;
  readonly token: string;
}

/** Where in a file a problem is; only who reads a file knows that. */
const withoutPlaces = (stderr: string): string =>
  stderr
    .replace(/^context .*\n/, '')
    .replace(/^\S+\.yaml:\d+:\d+: /gm, '')
    .trim();

/** The command line, by whatever its environment leads to. */
function byCommandLine(name: string, folder: string, env: Readonly<Record<string, string>>): Way {
  const run = (...args: readonly string[]): Promise<Ended> => jobctl(args, env);
  return {
    name,
    async run(job, id) {
      const file = join(folder, `${id}.yaml`);
      writeFileSync(file, stringify(job));
      const submitted = await run('submit', file, '--name', id);
      if (submitted.exitCode !== 0) return { kind: 'refused', problem: withoutPlaces(submitted.stderr) };
      const { exitCode, stderr } = await run('wait', id);
      const { stdout: log } = await run('logs', id);
      if (exitCode === 4 || exitCode === 2) return { kind: 'refused', problem: withoutPlaces(stderr) };
      return { kind: 'ended', exitCode, log };
    },
  };
}

export const commandLineByTemporal = ({ stack: { stack }, folder }: Place): Way => {
  const { server, taskQueue, store, rehearsal } = stack;
  const env = {
    ...{ TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: server.namespace, JOBCTL_TASK_QUEUE: taskQueue },
    ...{ JOBCTL_BUCKET: store.bucket, JOBCTL_STORE_ENDPOINT: rehearsal.endpoints.store, HOME: folder },
  };
  return byCommandLine('command line by Temporal', folder, env);
};

export async function commandLineByServer({ stack, folder, token }: Place): Promise<Way> {
  const home = join(folder, 'home');
  mkdirSync(home);
  const env = { HOME: home, JOBCTL_HOME: join(home, 'jobctl'), JOBCTL_SERVER: stack.urls[0] ?? '', T: token };
  const login = await jobctl(['login', '--id-token-from', 'env:T'], env);
  if (login.exitCode !== 0) throw new Error(login.stderr);
  return byCommandLine('command line by the server', folder, env);
}

function byJobClient(name: string, { stack: { stack } }: Place, jobs: JobClient): Way {
  return {
    name,
    async run(job, id) {
      try {
        await jobs.submit({ job, name: id });
        const { exitCode } = await jobs.wait(id);
        // It has no call for logs: what it starts prints into the same store.
        return { kind: 'ended', exitCode, log: await storedLog(stack.store, { id, stream: 'command', host: 0 }) };
      } catch (error) {
        if (error instanceof JobInvalid || error instanceof JobNameTaken)
          return { kind: 'refused', problem: error.message };
        throw error;
      }
    },
  };
}

export const jobClientByTemporal = (place: Place): Way =>
  byJobClient('JobClient by Temporal', place, place.stack.stack.jobs);

export const jobClientByServer = async (place: Place): Promise<Way> => {
  const jobs = await JobClient.connect({ server: place.stack.urls[0] ?? '', token: async () => place.token });
  return byJobClient('JobClient by the server', place, jobs);
};

const PYTHON = `
import asyncio, json, sys
from jobctl import AsyncClient, Client, auth, errors

job, name = json.loads(sys.argv[2]), sys.argv[3]

def told(outcome, log):
    return {"kind": "ended", "exitCode": outcome.exit_code, "log": log}

def blocking():
    with Client(token=auth.from_env()) as client:
        client.submit(job, name=name)
        return told(client.wait(name), client.logs(name, host=0))

async def in_asyncio():
    async with AsyncClient(token=auth.from_env()) as client:
        await client.submit(job, name=name)
        return told(await client.wait(name), await client.logs(name, host=0))

try:
    print(json.dumps(blocking() if sys.argv[1] == "blocking" else asyncio.run(in_asyncio())))
except (errors.Invalid, errors.NameTaken) as error:
    print(json.dumps({"kind": "refused", "problem": error.detail}))
`;

export const byPython = (kind: 'blocking' | 'asyncio', { stack, wheel, token }: Place): Way => ({
  name: `Python, ${kind}`,
  async run(job, id) {
    const env = { JOBCTL_SERVER: stack.urls[0], JOBCTL_ID_TOKEN: token };
    return JSON.parse(await wheel.run(['-c', PYTHON, kind, JSON.stringify(job), id], env)) as Told;
  },
});

export const byCurl = ({ stack, token }: Place): Way => {
  const curl = (path: string, ...more: readonly string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const args = ['-sS', '-H', `Authorization: Bearer ${token}`, ...more, `${stack.urls[0]}${path}`];
      execFile('curl', args, (error, stdout) => (error ? reject(error) : resolve(stdout)));
    });
  return {
    name: 'curl',
    async run(job, id) {
      const body = ['-H', 'Content-Type: application/json', '-d', JSON.stringify({ job, name: id })];
      const submitted = JSON.parse(await curl('/v1/jobs', ...body)) as { id?: string; detail?: string };
      if (submitted.id === undefined) return { kind: 'refused', problem: submitted.detail ?? '' };
      for (;;) {
        const ended = JSON.parse(await curl(`/v1/jobs/${id}/wait?timeoutMs=30000`)) as {
          readonly isOver: boolean;
          readonly outcome?: { readonly exitCode?: number };
        };
        if (ended.isOver)
          return { kind: 'ended', exitCode: ended.outcome?.exitCode, log: await curl(`/v1/jobs/${id}/logs?host=0`) };
      }
    },
  };
};

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type {
  CloudEvent,
  LeftMachine,
  SeenGroup,
  SeenJob,
  SeenMetric,
  StoredEvent,
  StoredLog,
  Told,
} from './evidence.js';
import { METRIC } from './metrics.js';
import { parseTold } from './told.js';

/** Places from which the oracle reads its evidence. */
export interface Sources {
  /** URL of the rehearsal's admin interface; `store` is that of its Cloud Storage. */
  readonly admin: string;
  readonly store: string;
  readonly bucket: string;
  /** The rehearsal's state folder, with the disks of VMs. */
  readonly cloudDirectory: string;
  /** `jobctl` as its user starts it: program and first arguments, and the environment. */
  readonly jobctl: { readonly command: readonly string[]; readonly env: NodeJS.ProcessEnv };
  readonly pool: string;
  /** The pool's own machines. */
  readonly machines: readonly MachineDisk[];
}

export interface MachineDisk {
  readonly name: string;
  /** Home of the login user, as this computer sees it. */
  readonly home: string;
}

/** The file with the holder of a machine (docs/adr/0070). */
const CLAIM = '.jobctl/machine/claim';

export function readMachines({ machines }: Sources): readonly LeftMachine[] {
  return machines.map(({ name, home }) => {
    const claim = textOf(join(home, CLAIM));
    return { name, ...(claim !== undefined && { claim }) };
  });
}

export async function readJournal({ admin }: Sources): Promise<readonly CloudEvent[]> {
  const text = await (await fetch(`${admin}/admin/journal?after=0`)).text();
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as CloudEvent]));
}

const CHUNK = /^jobs\/(?<job>[^/]+)\/logs\/a(?<attempt>\d+)\/command\/host-(?<host>\d+)\.\d+(?<lost>\.lost)?$/u;

/** Every stored log of every command, joined from its objects in the order of their names. */
export async function readLogs(sources: Sources): Promise<readonly StoredLog[]> {
  const logs = new Map<string, StoredLog>();
  for (const name of await namesOf(sources, 'jobs/')) {
    const groups = CHUNK.exec(name)?.groups;
    if (groups === undefined) continue;
    const { job = '', attempt = '', host = '' } = groups;
    const key = `${job} ${attempt} ${host}`;
    const place = { job, attempt: Number(attempt), host: Number(host) };
    const log = logs.get(key) ?? { ...place, text: '' };
    const content = await contentOf(sources, name);
    if (groups['lost'] === undefined) logs.set(key, { ...log, text: log.text + content });
    else logs.set(key, { ...log, lost: (log.lost ?? '') + content });
  }
  return [...logs.values()];
}

async function jobLogOf(sources: Sources, job: string): Promise<string> {
  const names = await namesOf(sources, `jobs/${job}/logs/job.`);
  return (await Promise.all(names.map((name) => contentOf(sources, name)))).join('');
}

async function eventsOf(sources: Sources, job: string): Promise<readonly StoredEvent[] | undefined> {
  const name = `jobs/${job}/logs/events.jsonl`;
  if (!(await namesOf(sources, name)).includes(name)) return undefined;
  const lines = (await contentOf(sources, name)).split('\n');
  return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as StoredEvent]));
}

async function namesOf({ store, bucket }: Sources, prefix: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (let page = ''; ;) {
    const query = new URLSearchParams({ prefix, ...(page === '' ? {} : { pageToken: page }) });
    const answer = await fetch(`${store}/storage/v1/b/${bucket}/o?${query.toString()}`);
    const list = (await answer.json()) as { items?: readonly { name: string }[]; nextPageToken?: string };
    names.push(...(list.items ?? []).map(({ name }) => name));
    page = list.nextPageToken ?? '';
    if (page === '') return names.toSorted();
  }
}

async function contentOf({ store, bucket }: Sources, name: string): Promise<string> {
  return (await fetch(`${store}/storage/v1/b/${bucket}/o/${encodeURIComponent(name)}?alt=media`)).text();
}

/** Reports on the disks of VMs, pods and machines that exist now. The disks of deleted slices are deleted too. */
export function readHostRecords({ cloudDirectory, machines: own }: Sources): readonly Told[] {
  const vms = join(cloudDirectory, 'vms');
  const pods = join(cloudDirectory, 'kubernetes', 'pods');
  const machines = [
    ...entriesOf(vms).flatMap((node) => entriesOf(join(vms, node)).map((host) => join(vms, node, host))),
    ...entriesOf(pods).map((uid) => join(pods, uid)),
  ];
  const disks = machines.map((folder) => join(folder, 'disk'));
  const homes = disks.flatMap((disk) => [
    join(disk, 'root'),
    ...entriesOf(join(disk, 'home')).map((user) => join(disk, 'home', user)),
  ]);
  return [...homes, ...own.map(({ home }) => home)].flatMap((home) => recordsIn(join(home, 'chaos-told')));
}

/** Empty if the folder is gone: a VM may be deleted while its disk is read. */
function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function recordsIn(file: string): readonly Told[] {
  return (textOf(file) ?? '').split('\n').flatMap((line) => parseTold(line) ?? []);
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

interface Row {
  readonly id: string;
  readonly phase: string;
  readonly endedAt?: number;
  readonly why?: string;
  readonly outcome?: { readonly exitCode?: number; readonly cause?: { readonly message: string } };
}

/** All jobs as a user sees them. */
export async function readResults(sources: Sources): Promise<readonly SeenJob[]> {
  const { jobs } = (await askJobctl(sources, 'list', '--limit', '1000')) as { jobs: readonly Row[] };
  return Promise.all(
    jobs.map(async ({ id, phase, endedAt, why, outcome }): Promise<SeenJob> => {
      const said = outcome?.cause?.message ?? why;
      const events = await eventsOf(sources, id);
      return {
        id,
        phase,
        isClosed: endedAt !== undefined,
        ...(outcome?.exitCode === undefined ? {} : { exitCode: outcome.exitCode }),
        ...(endedAt === undefined ? {} : { endedAt }),
        ...(said === undefined ? {} : { why: said }),
        jobLog: await jobLogOf(sources, id),
        ...(events === undefined ? {} : { events }),
      };
    }),
  );
}

/** Groups as a user sees them. One that nobody knows is left out. */
export async function readGroups(sources: Sources, ids: readonly string[]): Promise<readonly SeenGroup[]> {
  const seen = await Promise.all(
    ids.map(async (id) => {
      const row = (await askJobctl(sources, 'status', id).catch(() => undefined)) as
        | (Omit<SeenGroup, 'isClosed'> & { readonly endedAt?: number })
        | undefined;
      return row && { id, isClosed: row.endedAt !== undefined, counts: row.counts, members: row.members };
    }),
  );
  return seen.filter((each) => each !== undefined);
}

interface Plotted {
  readonly id: string;
  readonly missedBytes: number;
  readonly metrics: readonly {
    readonly name: string;
    readonly count: number;
    readonly last: { readonly step: number; readonly value: number };
    readonly points: { readonly step: readonly number[]; readonly value: readonly number[] };
  }[];
}

/** The metric of chaos, as a user has it drawn. @param ids of jobs of which some have begun */
export async function readMetrics(sources: Sources, ids: readonly string[]): Promise<readonly SeenMetric[]> {
  if (ids.length === 0) return [];
  const { jobs } = (await askJobctl(sources, 'plot', ...ids, '--points', '1000')) as { jobs: readonly Plotted[] };
  return jobs.flatMap(({ id, missedBytes, metrics }) =>
    metrics
      .filter(({ name }) => name === METRIC)
      .map(({ count, last, points }) => ({
        ...{ job: id, count, last, missedBytes },
        points: points.step.map((step, index) => ({ step, value: points.value[index] ?? Number.NaN })),
      })),
  );
}

/** Leases and waiting requests of the pool, as a user sees them. */
export async function readLeases(sources: Sources): Promise<readonly string[]> {
  const { jobs } = (await askJobctl(sources, 'quota', 'show', '--pool', sources.pool)) as {
    jobs: Readonly<Record<string, number>>;
  };
  return Object.entries(jobs).flatMap(([state, count]) =>
    Array.from({ length: count }, () => `a lease or request that is ${state}`),
  );
}

async function askJobctl({ jobctl }: Sources, ...args: readonly string[]): Promise<unknown> {
  const [program = '', ...first] = jobctl.command;
  const { stdout } = await promisify(execFile)(program, [...first, ...args, '--output', 'json'], {
    env: jobctl.env,
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout);
}

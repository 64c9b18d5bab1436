import { Context } from '@temporalio/activity';
import { objectPlace, readAtMost, type StorePort } from '../cloud/store/port.js';
import type { GroupResult } from '../contract/group.js';
import type { FoundInputs, JobActivities } from '../contract/job-activities.js';
import { groupWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import { hasFiles, memberId, roundAt } from '../domain/array/group-state.js';
import { entriesAt, type FoundInput, type InputSource, type InputSpec, type InputsSpec } from '../domain/inputs.js';
import { eachOf } from '../domain/semaphore.js';
import {
  inputsObject,
  manifestPlace,
  outcomeObject,
  outputContentObject,
  outputManifestObject,
  outputManifestsPrefix,
  outputsPrefix,
} from '../domain/store-layout.js';
import { ManifestWrong, type OutputEntry, readManifest } from '../domain/stored-outputs.js';
import { translated } from './failures.js';
import { describe, type WorkflowClient } from './workflow-lookup.js';

/** Jobs whose manifests are read at one time. Each may have some MiB. */
const WIDTH = 8;
/** Most files of all inputs together: every host gets a list of them. */
export const MOST_INPUT_FILES = 100_000;

type Reader = Pick<StorePort, 'bucket' | 'list' | 'read' | 'replace'>;

/** Inputs that are not in the store, or not any more. The message completes "input data: ..". */
class Gone extends Error {
  override readonly name = 'Gone';
}

export const inputsActivity = ({ store }: { readonly store: Reader }): Pick<JobActivities, 'findInputs'> => ({
  findInputs: ({ job, inputs }) => translated(() => findInputs(Context.current().client, store, job.id, inputs)),
});

/**
 * Looks for the stored outputs that a job names, and keeps in the store what each input consists of (docs/adr/0173). The
 * manifests' files have to be there with their sizes; hosts compare the hashes. Repeating is safe.
 */
export async function findInputs(
  client: WorkflowClient,
  store: Reader,
  job: string,
  inputs: InputsSpec,
): Promise<FoundInputs> {
  const found: FoundInput[] = [];
  for (const [name, input] of Object.entries(inputs)) {
    try {
      found.push(await findInput(client, store, name, input));
      const files = found.reduce((sum, each) => sum + each.files, 0);
      if (files > MOST_INPUT_FILES)
        throw new Gone(`with it the inputs are ${files} files, and ${MOST_INPUT_FILES} are the most: store an archive`);
    } catch (error) {
      if (!(error instanceof Gone || error instanceof ManifestWrong)) throw error;
      return { kind: 'gone', why: `input ${name}: ${error.message}` };
    }
  }
  await store.replace(inputsObject(job), JSON.stringify({ v: 1, inputs: found }), 'application/json');
  return {
    kind: 'found',
    inputs: found.map(({ name, job: of, files, bytes, sources }) => ({
      ...{ name, job: of, files, bytes },
      jobs: new Set(sources.map((source) => source.job)).size,
    })),
  };
}

async function findInput(client: WorkflowClient, store: Reader, name: string, input: InputSpec): Promise<FoundInput> {
  const jobs = await jobsOf(client, store, input);
  const found = new Map<string, Stored>();
  await eachOf(jobs, WIDTH, async ({ id, folder }) => void found.set(id, await storedBy(store, id, folder, input)));
  const all = jobs.flatMap(({ id }) => found.get(id) ?? []);
  const files = all.reduce((sum, each) => sum + each.files, 0);
  if (all.every(({ entries }) => entries === 0)) throw nothing(store, jobs, input, all);
  const sources = all.flatMap((each) => each.sources);
  return { ...input, name, files, bytes: all.reduce((sum, each) => sum + each.bytes, 0), sources };
}

function nothing(
  store: Reader,
  jobs: readonly { readonly id: string }[],
  { job, path }: InputSpec,
  all: readonly Stored[],
): Gone {
  const place = objectPlace(store, outputsPrefix(jobs[0]?.id ?? job));
  if (path !== undefined && all.some(({ isAnything }) => isAnything))
    return new Gone(
      `${job} has stored files, and none at '${path}'; \`jobctl outputs ${jobs[0]?.id ?? job}\` lists them`,
    );
  return new Gone(
    `no outputs of ${job} are stored (any more) at ${place}: it stored none, or they were deleted; run it again and name the new job`,
  );
}

/** The job itself, or the members of a group that began, each with its folder. */
async function jobsOf(
  client: WorkflowClient,
  store: Reader,
  { job, isThere }: InputSpec,
): Promise<readonly { readonly id: string; readonly folder: string }[]> {
  const workflow = groupWorkflowId(job);
  const group = await describe(client, workflow);
  if (group?.type !== WorkflowType.Group) {
    // Nobody waited for it: files of a job that still runs may change.
    if (isThere === true && (await store.read(outcomeObject(job), { start: 0, end: 1 })) === undefined)
      throw new Gone(
        `${job} has no stored outcome: it has not ended, or what it stored was deleted; without \`wait: false\` it is waited for`,
      );
    return [{ id: job, folder: '' }];
  }
  if (group.status.name !== 'COMPLETED')
    throw new Gone(`group ${job} is open, or was ended in Temporal: it has left no state of its members`);
  const { state } = (await client.workflow.getHandle(workflow, group.runId).result()) as GroupResult;
  return Array.from(state.marks).flatMap((mark, index) =>
    hasFiles(mark) ? [{ id: memberId({ group: job, index, round: roundAt(state, index) }), folder: `${index}/` }] : [],
  );
}

interface Stored {
  readonly sources: readonly InputSource[];
  readonly entries: number;
  readonly files: number;
  readonly bytes: number;
  /** It has stored something, at another path perhaps. */
  readonly isAnything: boolean;
}

/** Reads what one job has stored, of its newest attempt with files. @throws Gone if a content is not there any more */
async function storedBy(store: Reader, job: string, above: string, { path, isOfAllHosts }: InputSpec): Promise<Stored> {
  const hosts = await newestHosts(store, job);
  const chosen = isOfAllHosts === true ? hosts : hosts.slice(0, 1);
  const taken = chosen.map(({ attempt, host, entries }) => ({
    source: { job, attempt, host, folder: `${above}${isOfAllHosts === true ? `host-${host}/` : ''}` },
    entries: entriesAt(entries, path),
  }));
  const entries = taken.flatMap((each) => each.entries);
  const sizes = new Map(entries.flatMap((entry) => (entry.kind === 'file' ? [[entry.sha256, entry] as const] : [])));
  const prefix = outputContentObject(job, '');
  const there =
    sizes.size === 0
      ? new Map<string, number>()
      : new Map((await store.list(prefix)).map(({ name, size }) => [name.slice(prefix.length), size]));
  for (const [sha256, file] of sizes)
    if (there.get(sha256) !== file.size)
      throw new Gone(
        `'${file.path}' of ${job} is not in the store any more (${objectPlace(store, outputContentObject(job, sha256))}): it was deleted; run ${job} again and name the new job`,
      );
  const files = entries.flatMap((entry) => (entry.kind === 'file' ? [entry.size] : []));
  return {
    sources: taken.filter((each) => each.entries.length > 0).map(({ source }) => source),
    ...{ entries: entries.length, files: files.length, bytes: files.reduce((sum, size) => sum + size, 0) },
    isAnything: hosts.length > 0,
  };
}

interface HostEntries {
  readonly attempt: number;
  readonly host: number;
  readonly entries: readonly OutputEntry[];
}

/** Hosts that stored files in the newest attempt in which any did, by number. As `download` chooses. */
async function newestHosts(store: Reader, job: string): Promise<readonly HostEntries[]> {
  const listed = (await store.list(outputManifestsPrefix(job))).flatMap(({ name }) => manifestPlace(job, name) ?? []);
  for (const attempt of [...new Set(listed.map((one) => one.attempt))].toSorted((a, b) => b - a)) {
    const hosts: HostEntries[] = [];
    for (const { host } of listed.filter((one) => one.attempt === attempt).toSorted((a, b) => a.host - b.host)) {
      const entries = await manifestEntries(store, { job, attempt, host });
      if (entries.length > 0) hosts.push({ attempt, host, entries });
    }
    if (hosts.length > 0) return hosts;
  }
  return [];
}

/** The entries of a manifest, with one character for each byte of a name. Empty if it is not there. @throws ManifestWrong */
export async function manifestEntries(
  store: Pick<StorePort, 'bucket' | 'read'>,
  { job, attempt, host }: Pick<InputSource, 'job' | 'attempt' | 'host'>,
): Promise<readonly OutputEntry[]> {
  const name = outputManifestObject(job, attempt, host);
  const content = await readAtMost(store, name);
  if (content === undefined) return [];
  try {
    return readManifest(content, 'bytes').entries;
  } catch (error) {
    if (!(error instanceof ManifestWrong)) throw error;
    throw new ManifestWrong(`${objectPlace(store, name)} ${error.message}`);
  }
}

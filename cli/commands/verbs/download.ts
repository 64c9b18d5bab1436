import { join, resolve } from 'node:path';
import { isOfStore, type StoreReader } from '../../../cloud/store/port.js';
import { outputContentObject } from '../../../domain/store-layout.js';
import { type OutputEntry, ManifestWrong } from '../../../domain/stored-outputs.js';
import { count } from '../../../domain/units.js';
import { type HostOutputs, jobOutputs } from '../../../client/job-records.js';
import { orGroup } from '../../jobs/groups/or-group.js';
import { openReader, withClient } from '../../place/connect.js';
import { type ContextFlags, resolveContext, storeOf, type CliContext } from '../../place/context.js';
import { asksSeveral, type HostChoice } from '../../jobs/job-filter.js';
import type { OutputFlag } from '../../terminal/options.js';
import {
  type Copied,
  noteProblem,
  nothingCopied,
  reportCopied,
  downloadFile,
} from '../../jobs/outputs/download-file.js';
import { downloadLogs } from '../../jobs/outputs/download-logs.js';
import { SafeFolder } from '../../terminal/safe-folder.js';
import { TransferLine } from '../../terminal/render/transfer-line.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { ExitCode, CliError } from '../../terminal/cli-error.js';
import { oneLine, renderTable, terminalWidth } from '../../terminal/render/columns.js';
import { sizeText, utcMinute, clockTime } from '../../terminal/render/quantities.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';

export interface DownloadFlags extends ContextFlags, OutputFlag {
  readonly attempt?: number;
  readonly host?: HostChoice;
  /** Downloads the logs instead of the outputs. */
  readonly logs?: true;
}

/** Concurrent files. */
const WIDTH = 8;

/** `download JOB [DIR]`: downloads the outputs of hosts, verified by hash. If several are asked for, each gets a folder `host-N`. */
export const download = (job: string, directory: string | undefined, flags: DownloadFlags): Promise<number> =>
  orGroup(
    () => downloadJob(job, directory, flags),
    async (id) => {
      const { groupDownload } = await import('../../jobs/groups/members.js');
      return groupDownload(id, directory, flags, (member, folder) => downloadJob(member, folder, flags));
    },
  );

async function downloadJob(job: string, directory: string | undefined, flags: DownloadFlags): Promise<number> {
  if (flags.logs === true) return downloadLogs(job, directory, flags);
  const context = resolveContext(flags);
  const store = await openReader(storeOf(context, `the outputs of ${job} cannot be read`));
  const { chosen, notes } = await chosenOutputs(store, context, job, flags, 'one host');
  const root = resolve(directory ?? job);
  const signal = watchEnd();
  const line = new TransferLine('downloading');
  const size = chosen.reduce((sum, { manifest }) => sum + manifest.bytes, 0);
  const isByHost = asksSeveral(flags.host ?? []);
  let read = 0;
  const onBytes = (bytes: number): void => line.show({ path: job, sent: (read += bytes), size });
  const done = nothingCopied();
  try {
    for (const one of chosen) {
      const folder = new SafeFolder(resolve(root, isByHost ? `host-${one.host}` : '.'));
      await downloadHost(store, job, one, folder, { onBytes, signal, done });
    }
  } finally {
    line.end();
  }
  const hosts = chosen.map(({ host }) => host);
  const attempt = chosen[0]?.attempt;
  const what = `of ${hosts.length === 1 ? `host ${hosts[0]}` : count(hosts.length, 'host')}, attempt ${attempt}`;
  const facts = { job, attempt, hosts };
  return reportCopied({ facts, noun: 'file', what, root, notes, done, isCut: signal.aborted }, flags);
}

interface Run {
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal;
  readonly done: Copied;
}

/** Writes files first and links last, so that no file goes through a link. One failure does not stop the others. */
async function downloadHost(
  store: StoreReader,
  job: string,
  { manifest }: HostOutputs,
  folder: SafeFolder,
  run: Run,
): Promise<void> {
  const order = { folder: 0, file: 0, link: 1 } as const;
  await folder.folder('');
  const queue = manifest.entries.toSorted((a, b) => order[a.kind] - order[b.kind]).values();
  const files = manifest.entries.filter(({ kind }) => kind !== 'link').length;
  let begun = 0;
  const work = async (isMine: () => boolean): Promise<void> => {
    while (isMine()) {
      const { value } = queue.next();
      begun += 1;
      if (value === undefined || run.signal.aborted) return;
      await downloadEntry(store, job, value, folder, run);
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, () => work(() => begun < files)));
  await work(() => true);
}

async function downloadEntry(
  store: StoreReader,
  job: string,
  entry: OutputEntry,
  folder: SafeFolder,
  { onBytes, signal, done }: Run,
): Promise<void> {
  try {
    if (entry.kind === 'folder') return void (await folder.folder(entry.path));
    if (entry.kind === 'link') return await folder.link(entry.path, entry.target);
    const object = outputContentObject(job, entry.sha256);
    const end = await downloadFile(store, { object, file: entry, folder }, onBytes, signal);
    done[end === 'done' ? 'copied' : 'unchanged'] += 1;
    if (end === 'done') done.bytes += entry.size;
  } catch (error) {
    if (signal.aborted) return;
    if (isOfStore(error)) throw error;
    noteProblem(done, error, join(folder.root, entry.path), entry.kind === 'file' ? entry.size : 0);
  }
}

export interface OutputsFlags extends ContextFlags, OutputFlag {
  readonly attempt?: number;
  readonly host?: HostChoice;
}

/** `outputs JOB`: lists the files that its hosts stored. */
export async function outputs(job: string, flags: OutputsFlags): Promise<number> {
  const context = resolveContext(flags);
  const store = await openReader(storeOf(context, `the outputs of ${job} cannot be read`));
  const { chosen, notes } = await chosenOutputs(store, context, job, flags, 'all');
  if (flags.output === 'json') {
    const hosts = chosen.map(({ attempt, host, manifest }) => ({ attempt, host, ...manifest }));
    printOut(`${JSON.stringify({ job, hosts }, null, 2)}\n`);
    return ExitCode.Done;
  }
  const rows = chosen.flatMap(({ attempt, host, manifest: { entries } }) =>
    entries.map((entry) => [
      entry.kind === 'file' ? sizeText(entry.size) : entry.kind,
      String(host),
      String(attempt),
      entry.kind === 'file' ? `${utcMinute(entry.modifiedAt)}Z` : '-',
      oneLine(entry.kind === 'link' ? `${entry.path} -> ${entry.target}` : entry.path),
    ]),
  );
  const table = renderTable([['SIZE', 'HOST', 'ATTEMPT', 'WRITTEN', 'PATH'], ...rows], terminalWidth(process.stdout));
  printOut(`${table.join('\n')}\n`);
  for (const note of notes) printErr(`${note}\n`);
  if (process.stdout.isTTY) printErr(asTyped(`\nTo get them: jobctl download ${job}\n`));
  return ExitCode.Done;
}

interface Choice {
  readonly attempt?: number;
  readonly host?: HostChoice;
}

/**
 * The chosen outputs of a job, and notes about them: the command still runs, files are missing, other hosts stored files too.
 * @param unsaid hosts that are meant without `--host`
 * @throws CliError if there are no outputs
 */
async function chosenOutputs(
  store: StoreReader,
  context: CliContext,
  job: string,
  { attempt, host }: Choice,
  unsaid: 'one host' | 'all',
): Promise<{ readonly chosen: readonly HostOutputs[]; readonly notes: readonly string[] }> {
  const hosts = host === undefined || host === 'all' ? undefined : host;
  const found = await jobOutputs(store, job, { attempt, hosts }).catch((error: unknown) => {
    if (!(error instanceof ManifestWrong)) throw error;
    throw new CliError(ExitCode.Failed, error.message, 'nothing was written: no host of jobctl writes such a manifest');
  });
  const full = found.hosts.filter(({ manifest }) => manifest.entries.length > 0);
  if (full.length === 0) throw await nothing(context, job, { attempt, hosts }, found);
  const chosen = host === undefined && unsaid === 'one host' ? full.slice(0, 1) : full;
  const missing = hosts?.filter((number) => !full.some((one) => one.host === number)) ?? [];
  return { chosen, notes: [...notesOn(chosen), ...others(full, chosen), ...emptyHosts(missing)] };
}

function notesOn(chosen: readonly HostOutputs[]): string[] {
  return chosen.flatMap(({ host, manifest: { state, at, problems } }) => [
    ...(state === 'running' ? [`host ${host}: as it was at ${clockTime(at)}, before its command had ended`] : []),
    ...problems.map((problem) => `host ${host}: ${problem}`),
  ]);
}

function others(full: readonly HostOutputs[], chosen: readonly HostOutputs[]): string[] {
  const rest = full.filter((one) => !chosen.includes(one));
  if (rest.length === 0) return [];
  const files = rest.reduce((sum, { manifest }) => sum + manifest.files, 0);
  return [`${count(rest.length, 'other host')} stored ${count(files, 'file')}: --host all puts each host's in host-N/`];
}

const emptyHosts = (missing: readonly number[]): string[] =>
  missing.length === 0 ? [] : [`nothing is stored of host ${missing.join(', ')}`];

async function nothing(
  context: CliContext,
  job: string,
  { attempt, hosts }: { readonly attempt: number | undefined; readonly hosts: readonly number[] | undefined },
  { attempts }: { readonly attempts: readonly number[] },
): Promise<CliError> {
  const of = [
    ...(hosts === undefined ? [] : [`host ${hosts.join(', ')}`]),
    ...(attempt === undefined ? [] : [`attempt ${attempt}`]),
  ].join(', ');
  if (attempts.length > 0)
    return new CliError(
      ExitCode.NotFound,
      `${job}: no files are stored${of === '' ? '' : ` of ${of}`}`,
      `attempts with outputs: ${attempts.join(', ')}; \`jobctl outputs ${job}\` lists the newest`,
    );
  // This throws if the job does not exist.
  const row = await withClient(context, (client) => client.row(job));
  return new CliError(
    ExitCode.NotFound,
    `${job} has no stored outputs${row.endedAt === undefined ? ` yet: it is ${row.phase}` : ''}`,
    'stored are the files in $JOBCTL_OUTPUT_DIR, and what `outputs: [out, "*.ckpt"]` of the job file names',
    ...(row.outcome?.outputs?.missing ?? []).map(({ host: number, why }) => `host ${number}: ${why}`),
    ...(row.endedAt === undefined ? [`files on its hosts: jobctl cp ${job}:PATH .`] : []),
  );
}

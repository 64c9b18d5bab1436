import { join, resolve } from 'node:path';
import { isOfStore, type StoreReader } from '../../../cloud/store/port.js';
import { outputContentObject } from '../../../domain/store-layout.js';
import type { OutputEntry } from '../../../domain/stored-outputs.js';
import { count } from '../../../domain/units.js';
import type { HostOutputs } from '../../../client/job-outputs.js';
import { openReader } from '../../place/connect.js';
import { type ContextFlags, resolveContext, storeOf } from '../../place/context.js';
import { asksSeveral, type HostChoice } from '../../jobs/hosts/host-options.js';
import type { OutputFlag } from '../../terminal/options.js';
import { type Copied, noteProblem, nothingCopied, reportCopied } from '../../jobs/outputs/copied.js';
import { downloadFile } from '../../jobs/outputs/download-file.js';
import { downloadLogs } from '../../jobs/outputs/download-logs.js';
import { SafeFolder } from '../../terminal/safe-folder.js';
import { chosenOutputs } from '../../jobs/outputs/chosen-outputs.js';
import { TransferLine } from '../../terminal/render/transfer-line.js';
import { watchEnd } from '../../jobs/watch/interruptions.js';

export interface DownloadFlags extends ContextFlags, OutputFlag {
  readonly attempt?: number;
  readonly host?: HostChoice;
  /** Downloads the logs instead of the outputs. */
  readonly logs?: true;
}

/** Concurrent files. */
const WIDTH = 8;

/** `download JOB [DIR]`: downloads the outputs of hosts, verified by hash. If several are asked for, each gets a folder `host-N`. */
export async function download(job: string, directory: string | undefined, flags: DownloadFlags): Promise<number> {
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

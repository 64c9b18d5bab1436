import { count } from '../../../domain/units.js';
import { visibleLines } from '../../../domain/outside-text.js';
import { randomBytes } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { once } from 'node:events';
import { type Exported, exportJob, type ExportSources, type Write } from '../../../client/export/export-job.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { openReader, withTemporal } from '../../place/connect.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import { printErr } from '../../terminal/print.js';
import { ownVersion } from '../../terminal/version.js';
import { isFull, writeErrorWords } from '../../terminal/file-on-disk.js';

export interface ExportFlags extends ContextFlags {
  /** Path of a file; absent: standard output. */
  readonly output?: string;
}

/** `export JOB`: writes one file, completely or not at all; missing parts are also reported on stderr. */
export function exportIncident(job: string, flags: ExportFlags): Promise<number> {
  refuseOutput(flags);
  const context = resolveContext(flags);
  return withTemporal(context, async (temporal, address) => {
    const store = context.bucket && (await openReader(context.bucket));
    const server = `Temporal at ${address}`;
    const sources = { temporal, server, ...(store && { store }), version: ownVersion() };
    const { output } = flags;
    const exported =
      output === undefined
        ? await toStdout(job, sources)
        : await toFile(output, (write) => exportJob(job, sources, write));
    for (const missing of exported.missing) printErr(`${job}: not in the export: ${missing}\n`);
    const where = output === undefined ? '' : ` in ${output}`;
    const what = `${count(exported.attempts, 'attempt')}, ${count(exported.histories, 'workflow run')}`;
    printErr(`${job}: ${what}${where}. Read it before you publish it; docs/operations.md makes a test of it\n`);
    return ExitCode.Done;
  });
}

/** Refuses a format as the file's name, since in other verbs `-o` names a format. Refuses an existing file too. */
function refuseOutput({ output }: ExportFlags): void {
  if (output === undefined) return;
  if (output === 'json' || output === 'text')
    throw new CliError(
      ExitCode.Usage,
      `export --output ${output}: it names the file to make, which is always JSON`,
      'such as -o job.json.gz',
    );
  if (existsSync(output))
    throw new CliError(
      ExitCode.Refused,
      `export: ${output} is there already, and was not touched`,
      'remove it, or name another file',
    );
}

/** Writes the file, packed if its name ends in .gz, completely or not at all. @throws CliError */
export async function toFile(file: string, use: (write: Write) => Promise<Exported>): Promise<Exported> {
  const draft = join(dirname(file), `.${basename(file)}.${randomBytes(4).toString('hex')}`);
  try {
    const exported = await through(createWriteStream(draft, { flags: 'wx' }), file.endsWith('.gz'), use);
    await rename(draft, file);
    return exported;
  } catch (error) {
    await rm(draft, { force: true });
    // A write that finds the disk full does not name its file.
    if (!isOfFile(error) && !isFull(error)) throw error;
    throw new CliError(ExitCode.Failed, `export: ${file} cannot be written: ${writeErrorWords(error, file)}`);
  }
}

const isOfFile = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'path' in error;

async function through(
  target: Writable,
  isPacked: boolean,
  use: (write: Write) => Promise<Exported>,
): Promise<Exported> {
  const source = new PassThrough();
  const written = pipeline(source, isPacked ? createGzip() : new PassThrough(), target);
  written.catch(() => undefined);
  const failed = written.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  try {
    const exported = await Promise.race([use((text) => writeTo(source, text)), failed]);
    source.end();
    await written;
    return exported;
  } catch (error) {
    source.destroy();
    await written.catch(() => undefined);
    throw error;
  }
}

const toStdout = (job: string, sources: ExportSources): Promise<Exported> =>
  exportJob(job, sources, (text) => writeTo(process.stdout, visibleLines(text)));

/** Waits for a slow reader. */
async function writeTo(stream: Writable, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}

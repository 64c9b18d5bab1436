import { existsSync } from 'node:fs';
import { dirname, isAbsolute, relative } from 'node:path';
import { parseJobFile } from '../../../domain/job-file/parse.js';
import { localFilesOf } from '../../../domain/modules/set-up.js';
import { formatProblems } from '../../../domain/problem.js';
import { shellQuote } from '../../../domain/shell-quote.js';
import { isMap, parseDocument } from 'yaml';
import { ask, mustBeAskable, nothingChanged } from '../../terminal/ask.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { jobFileText, localPlaceOf, readText } from '../../job/job-file.js';
import type { Draft, Told } from '../../job/migrating/draft.js';
import { importJobman } from '../../job/migrating/import-jobman.js';
import { readJobspec, launchAction, readLaunch } from '../../job/migrating/import-launch.js';
import { oneLine, renderTable } from '../../terminal/render/columns.js';
import { asTyped, typedCommand } from '../../terminal/print.js';
import { writeWhole } from '../../terminal/file-on-disk.js';

export interface ImportFlags {
  /** The file to write; absent: stdout. */
  readonly output?: string;
  readonly yes?: true;
}

export async function importJobspec(file: string, flags: ImportFlags): Promise<number> {
  const draft = readJobspec(readText(file, 'jobctl import bastion-jobspec takes the path of a job spec (JSON)'), file);
  return writeDraft(draft, file, flags);
}

export async function importLaunch(flags: ImportFlags, words: readonly string[] | undefined): Promise<number> {
  if (words === undefined || words.length === 0)
    throw new CliError(
      ExitCode.Usage,
      'jobctl import launch: no command line after --',
      'such as jobctl import launch -- --instance_type=tpu-v4-32 --max_tries=3 -- python3 train.py',
    );
  const action = launchAction(words);
  if (['list', 'stop', 'logs'].includes(action))
    throw new CliError(
      ExitCode.Usage,
      `jobctl import launch: \`launch ${action}\` submits no job`,
      `\`${typedCommand()} launch ${words.slice(0, 1).join(' ')}\` says which line of jobctl does the same`,
    );
  const { tool, draft } = readLaunch(words);
  return writeDraft(draft, tool, flags);
}

export async function importJobmanFile(file: string, flags: ImportFlags): Promise<number> {
  const { text, told } = importJobman(
    readText(file, 'jobctl import jobman takes the path of a JobMan file (YAML)'),
    file,
  );
  const moved = withPathsFrom(text, file, flags.output);
  return write({ text: moved.text, told: [...told, ...moved.told] }, flags);
}

function writeDraft({ written, told }: Draft, from: string, flags: ImportFlags): Promise<number> {
  const head = [oneLine(`# Imported by jobctl from ${from}. docs/job-file.md has every key.`), ...lostComments(told)];
  const text = `${head.join('\n')}\n${jobFileText(inOrder(written))}`;
  const parsed = parseJobFile(text, { file: flags.output ?? 'job file', env: process.env });
  if (!parsed.ok)
    throw new CliError(
      ExitCode.Usage,
      `${from}: no job file can be made of it, since the job would not run`,
      ...formatProblems(parsed.problems.map(({ line: _, column: _column, file: _file, ...problem }) => problem)).split(
        '\n',
      ),
      ...reportLines(told.filter(({ fate }) => fate === 'lost')).map((line) => line.trimStart()),
    );
  const warnings = parsed.warnings.map((text): Told => ({ key: '(as it runs)', fate: 'changed', text }));
  return write({ text, told: [...told, ...warnings] }, flags);
}

/** Order of keys as a person would write them, the command last. */
const ORDER = ['name', 'project', 'user', 'priority', 'slices', 'tpu', 'bundle', 'env', 'retries'];
function inOrder(tree: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const known = ORDER.filter((key) => key in tree).map((key) => [key, tree[key]] as const);
  const last = Object.entries(tree).filter(([key]) => !ORDER.includes(key));
  return Object.fromEntries([...known, ...last]);
}

/** Writes the file to stdout or to the path of -o, and the report to stderr. */
async function write(
  { text, told }: { readonly text: string; readonly told: readonly Told[] },
  flags: ImportFlags,
): Promise<number> {
  const { output } = flags;
  if (output !== undefined && existsSync(output) && !(await mayOverwrite(output, flags))) return nothingChanged();
  if (output === undefined) process.stdout.write(text);
  else writeWhole(output, text);
  process.stderr.write(`${asTyped(reportLines(told).join('\n'))}\n`);
  if (output !== undefined)
    process.stderr.write(`${output} is written. Next: ${typedCommand()} validate ${shellQuote(output)}\n`);
  return ExitCode.Done;
}

async function mayOverwrite(file: string, flags: ImportFlags): Promise<boolean> {
  mustBeAskable({ ...flags, output: 'text' }, `jobctl import: ${file} is there already`, '--yes overwrites it');
  return flags.yes === true || ask(`${file} is there already. Overwrite it? [y/N] `);
}

/** Rewrites relative paths of the old file's folder, or of the current one, so that they start at the new file's folder. */
function withPathsFrom(
  text: string,
  from: string,
  output: string | undefined,
): { readonly text: string; readonly told: readonly Told[] } {
  const parsed = parseJobFile(text, { file: from, env: process.env });
  if (!parsed.ok) return { text, told: [] };
  const document = parseDocument(text);
  const folder = dirname(output ?? 'job.yaml');
  const told: Told[] = [];
  for (const { path, at } of localFilesOf(parsed.spec)) {
    if (isAbsolute(path) || path.startsWith('~')) continue;
    const moved = relative(folder, localPlaceOf(from, path, parsed.raw).place) || '.';
    if (moved === path || !isMap(document.contents) || document.getIn(at) !== path) continue;
    document.setIn(at, moved);
    told.push({
      key: `${at.join('.')}: ${path}`,
      fate: 'changed',
      text: `${moved}: paths start at the new file's folder`,
    });
  }
  return { text: told.length === 0 ? text : document.toString({ lineWidth: 0 }), told };
}

/** Reports the fate of each key, for people. Lost keys come last, where they are noticed. */
function reportLines(told: readonly Told[]): readonly string[] {
  const inOrder = [...told.filter(({ fate }) => fate !== 'lost'), ...told.filter(({ fate }) => fate === 'lost')];
  return renderTable(inOrder.map(({ fate, key, text }) => [`  ${fate}`, key, text]));
}

/** The lost and different keys, as comments for the file. */
function lostComments(told: readonly Told[]): readonly string[] {
  return told
    .filter(({ fate }) => fate === 'lost')
    .map(({ key, text }) => `# Not taken over: ${oneLine(key)}: ${oneLine(text)}`);
}

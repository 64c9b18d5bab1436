/**
 * `npm run bench`: prints one page of jobctl's times beside those of other tools on the same computer, within about six minutes.
 * What each row means is in docs/performance.md. A tool that is not installed is named with how to get it. The exit code is 1 if
 * a part or a tool that is here failed, and says nothing of the figures.
 *   -- --only fanout,cli      some of: fanout, decisions, grants, cli, submit, logs
 *   -- --json FILE            also writes the rows, with the time of every round
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../domain/errors.js';
import { endProcessesOf, inOwnProcess } from './page/own-processes.js';
import { type PageArguments, pageArguments, type PartName, PARTS, rowsOf } from './page/parts.js';
import { type Circumstances, hasFailures, type PageRow, pageOf } from './page/table.js';
import { JOBCTL, withLocalStack } from './start/local-stack.js';

const INTERRUPTED = 130;
const load = (): number => loadavg()[0] ?? Number.NaN;

process.exit(await main());

/** @returns the exit code */
async function main(): Promise<number> {
  const wanted = wantedOf(process.argv.slice(2));
  if (typeof wanted === 'number') return wanted;
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-bench-page-'));
  // Whatever a part writes or starts can be found by it.
  process.env['TMPDIR'] = folder;
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
  const [began, loadBefore] = [performance.now(), load()];
  try {
    const rows = await measured(wanted.parts, stop.signal);
    const seconds = (performance.now() - began) / 1_000;
    const at: Circumstances = { ...(await here()), loadBefore, loadAfter: load(), seconds };
    for (const line of pageOf(rows, at)) console.log(line);
    if (wanted.json !== undefined) writeFileSync(wanted.json, `${JSON.stringify({ ...at, rows }, undefined, 2)}\n`);
    return hasFailures(rows) ? 1 : 0;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    console.error('interrupted');
    return INTERRUPTED;
  } finally {
    await endProcessesOf(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function wantedOf(args: readonly string[]): PageArguments | number {
  try {
    if (!existsSync(JOBCTL)) throw new Error(`${JOBCTL}: is not built; run \`npm run build\` first`);
    return pageArguments(args);
  } catch (error) {
    console.error(messageOf(error));
    return 2;
  }
}

async function measured(parts: readonly PartName[], signal: AbortSignal): Promise<readonly PageRow[]> {
  const alone = await rowsOf(
    parts.filter((part) => !PARTS[part].needsStack),
    (part) => inOwnProcess(part, process.env, signal),
    signal,
  );
  const beside = parts.filter((part) => PARTS[part].needsStack);
  if (beside.length === 0) return alone;
  let rows: readonly PageRow[] = [];
  console.error('starting a local stack');
  try {
    await withLocalStack(async (env) => {
      rows = await rowsOf(beside, (part) => inOwnProcess(part, env, signal), signal);
    });
  } catch (error) {
    signal.throwIfAborted();
    rows = [...rows, { part: rows.length === 0 ? beside.join(', ') : 'the local stack', why: messageOf(error) }];
  }
  return [...alone, ...rows];
}

/** What is known of this computer and checkout. */
async function here(): Promise<Pick<Circumstances, 'commit' | 'date' | 'node' | 'cores'>> {
  const git = (...args: readonly string[]): Promise<string> =>
    promisify(execFile)('git', ['-C', import.meta.dirname, ...args]).then(({ stdout }) => stdout.trim());
  const commit = await git('rev-parse', '--short=8', 'HEAD').catch(() => 'of an unknown commit');
  const changes = await git('status', '--porcelain', '--untracked-files=no').catch(() => '');
  return {
    commit: changes === '' ? commit : `${commit} with changes`,
    date: `${new Date().toISOString().slice(0, 16)}Z`,
    node: process.version,
    cores: cpus().length,
  };
}

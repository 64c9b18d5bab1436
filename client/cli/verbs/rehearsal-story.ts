import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { readText } from '../job-file.js';
import type { OutputFlag } from '../options.js';
import { localRehearsal } from '../rehearsal/local-rehearsal.js';
import type { RehearsalAdmin } from '../rehearsal/rehearsal-admin.js';
import { renderEvent, renderScriptEvent } from '../rehearsal/render-events.js';
import { watchEnd } from '../watch/interrupt.js';
import { pause } from '../watch/outage.js';
import type { ScriptProgress } from '../rehearsal/admin-answers.js';

/** The verbs of `jobctl rehearsal` about what happened and what is to happen. */

const FOLLOW_MS = 400;

export interface JournalFlags extends OutputFlag {
  readonly follow?: true;
  readonly after: number;
}

export async function journal({ follow, after, output }: JournalFlags): Promise<number> {
  const { admin } = localRehearsal();
  const signal = watchEnd();
  for (let last = after; ;) {
    for (const event of await admin.journal(last)) {
      last = event.seq;
      process.stdout.write(`${output === 'json' ? JSON.stringify(event) : renderEvent(event)}\n`);
    }
    if (follow !== true) return ExitCode.Done;
    await pause(FOLLOW_MS, signal);
    if (signal.aborted) return ExitCode.Interrupted;
  }
}

/** JSON lines, whatever the output: one object each. */
export async function dump(): Promise<number> {
  const { admin } = localRehearsal();
  process.stdout.write(await admin.dump());
  return ExitCode.Done;
}

export interface ScriptFlags extends OutputFlag {
  readonly follow?: true;
  readonly stop?: true;
}

export async function script(file: string | undefined, flags: ScriptFlags): Promise<number> {
  const { admin } = localRehearsal();
  const isJson = flags.output === 'json';
  if (flags.stop === true) {
    const answer = await admin.delete('script');
    process.stdout.write(isJson ? `${JSON.stringify(answer, null, 2)}\n` : 'no script runs any more\n');
    return ExitCode.Done;
  }
  if (file !== undefined) await startScript(admin, file);
  if (flags.follow === true) return followScript(admin, isJson);
  const progress = (await admin.get('script')) as ScriptProgress;
  process.stdout.write(`${isJson ? JSON.stringify(progress, null, 2) : scriptLines(progress).join('\n')}\n`);
  return ExitCode.Done;
}

/** @throws CliError with file, line and column of what is wrong; nothing of it runs then */
export async function startScript(admin: RehearsalAdmin, file: string): Promise<void> {
  const text = readText(file, 'a fault script is YAML: docs/rehearsal.md');
  try {
    await admin.post('script', { text });
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== ExitCode.Usage) throw error;
    throw new CliError(ExitCode.Usage, placedIn(file, error.message));
  }
}

/** The rehearsal knows the text alone: `3:5: what`; the file's name goes in front, of each problem. */
function placedIn(file: string, message: string): string {
  const text = message.replace(/^body: |^text: /, '');
  return text
    .split('\n')
    .map((line, index) =>
      /^\s*\d+:\d+: /.test(line) ? `${file}:${line.trim()}` : index === 0 ? `${file}: ${line}` : line,
    )
    .join('\n');
}

function scriptLines({ done, toCome }: ScriptProgress): readonly string[] {
  if (done.length + toCome.length === 0) return ['no script runs; `jobctl rehearsal script FILE` starts one'];
  const lines = [
    ...done.map((event) => renderScriptEvent(event, true)),
    ...toCome.map((event) => renderScriptEvent(event, false)),
  ];
  return [...lines, `${done.length} done, ${toCome.length} to come`];
}

/** A line for each event as it is done, until none is to come. */
async function followScript(admin: RehearsalAdmin, isJson: boolean): Promise<number> {
  const signal = watchEnd();
  for (let told = 0; ;) {
    const { done, toCome } = (await admin.get('script')) as ScriptProgress;
    for (const event of done.slice(told))
      process.stdout.write(`${isJson ? JSON.stringify(event) : renderScriptEvent(event, true)}\n`);
    told = done.length;
    if (toCome.length === 0) return ExitCode.Done;
    await pause(FOLLOW_MS, signal);
    if (signal.aborted) return ExitCode.Interrupted;
  }
}

import type * as ReadScript from '../../../rehearsal/script/read-script.js';
import type { ScriptProgress, EventToCome } from '../../../rehearsal/script/progress.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { loadFrom } from '../../place/packages.js';
import { readText } from '../../job/job-file.js';
import type { OutputFlag } from '../../terminal/options.js';
import { localRehearsal, type RehearsalAdmin, placeOf } from '../../local/rehearsal/rehearsal-admin.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { pause } from '../../../client/errors.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';
import type { JournalEvent } from '../../../rehearsal/journal.js';
import type { DoneEvent } from '../../../rehearsal/script/state.js';
import { oneLine } from '../../terminal/render/columns.js';

/** Verbs of `jobctl rehearsal` about past and planned events. */

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
      printOut(`${output === 'json' ? JSON.stringify(event) : renderEvent(event)}\n`);
    }
    if (follow !== true) return ExitCode.Done;
    await pause(FOLLOW_MS, signal);
    if (signal.aborted) return ExitCode.Interrupted;
  }
}

/** Prints JSON lines, one object each, regardless of `--output`. */
export async function dump(): Promise<number> {
  const { admin } = localRehearsal();
  printOut(await admin.dump());
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
    printOut(isJson ? `${JSON.stringify(answer, null, 2)}\n` : 'no script runs any more\n');
    return ExitCode.Done;
  }
  if (file !== undefined) await startScript(admin, file);
  if (flags.follow === true) return followScript(admin, isJson);
  const progress = (await admin.get('script')) as ScriptProgress;
  printOut(`${isJson ? JSON.stringify(progress, null, 2) : scriptLines(progress).join('\n')}\n`);
  return ExitCode.Done;
}

/** Starts a fault script. @throws CliError with file, line and column of each problem; nothing of the script runs then */
export async function startScript(admin: RehearsalAdmin, file: string): Promise<void> {
  await admin.post('script', { text: await checkedScript(file) });
}

/** Returns the text of a valid fault script. @throws CliError with file, line and column of each problem */
export async function checkedScript(file: string): Promise<string> {
  const text = readText(file, 'a fault script is YAML: docs/rehearsal.md, "Fault scripts"');
  const { readScript, ScriptError } = await loadFrom<typeof ReadScript>(
    '@jobctl/cloud-tpu-rehearsal',
    'script/read-script',
  );
  try {
    readScript(text);
    return text;
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    throw new CliError(ExitCode.Usage, error.message.replaceAll(/^(?=\d+:\d+: )/gm, `${file}:`));
  }
}

function scriptLines({ done, toCome }: ScriptProgress): readonly string[] {
  if (done.length + toCome.length === 0) return [asTyped('no script runs; `jobctl rehearsal script FILE` starts one')];
  return [...done.map(renderDone), ...toCome.map(renderToCome), `${done.length} done, ${toCome.length} to come`];
}

/** Prints a line for each event once it is done, until none is left. Stderr shows the coming ones, which may be hours away. */
async function followScript(admin: RehearsalAdmin, isJson: boolean): Promise<number> {
  const signal = watchEnd();
  for (let told: number | undefined; ;) {
    const { done, toCome } = (await admin.get('script')) as ScriptProgress;
    if (told === undefined && !isJson) for (const event of toCome) printErr(`${renderToCome(event)}\n`);
    for (const event of done.slice(told)) printOut(`${isJson ? JSON.stringify(event) : renderDone(event)}\n`);
    told = done.length;
    if (toCome.length === 0) return ExitCode.Done;
    await pause(FOLLOW_MS, signal);
    if (signal.aborted) return ExitCode.Interrupted;
  }
}

const SEQ_WIDTH = 5;
const KIND_WIDTH = 'queued-resource-state'.length;

/** `   12  14:02:11.204  node-state             jc-train-g1  from READY, to PREEMPTED` on the cloud's clock, UTC. */
function renderEvent({ seq, at, kind, subject, details }: JournalEvent): string {
  const text = Object.entries(details)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
  return [
    String(seq).padStart(SEQ_WIDTH),
    clockTime(at),
    kind.padEnd(KIND_WIDTH),
    placeOf(subject).id,
    oneLine(text.join(', ')),
  ]
    .join('  ')
    .trimEnd();
}

/** `14:02:11.204  line 12  preempt jc-train-g1: done`, on the cloud's clock. */
function renderDone({ at, line, action, subject, result }: DoneEvent): string {
  const what = subject === undefined ? action : `${action} ${placeOf(subject).id}`;
  return `${clockTime(at)}  line ${line}  ${oneLine(`${what}: ${result}`)}`;
}

/** `14:07:11.204  line 14  refuse, to come 3 times` */
function renderToCome({ at, when, line, action, turns }: EventToCome): string {
  const time = at === undefined ? `once ${when ?? 'its condition holds'}` : clockTime(at);
  return `${time}  line ${line}  ${oneLine(action)}, to come${turns === 1 ? '' : ` ${turns} times`}`;
}

const clockTime = (at: number): string => new Date(at).toISOString().slice(11, 23);

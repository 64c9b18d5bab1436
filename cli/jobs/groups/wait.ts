import type { GroupRow } from '../../../client/group-rows.js';
import type { JobClient } from '../../../client/job-client.js';
import { isOutage, pause } from '../../../client/errors.js';
import type { GroupView } from '../../../contract/group.js';
import { assignmentAt, assignmentText } from '../../../domain/array/array.js';
import {
  countsByWord,
  countsText,
  hasFailed,
  memberId,
  MemberMark,
  roundAt,
  wordOfMark,
} from '../../../domain/array/group-state.js';
import { count } from '../../../domain/units.js';
import { withClient } from '../../place/connect.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { watchEnd } from '../../terminal/interruptions.js';
import type { OutputFlag } from '../../terminal/options.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';
import { openScreen, type Screen } from '../watch/screen.js';
import { namedCounts } from './status.js';

interface WaitFlags extends ContextFlags, OutputFlag {
  /** Milliseconds. */
  readonly timeout?: number;
}

export function groupWait(id: string, flags: WaitFlags): Promise<number> {
  const signal = watchEnd(flags.timeout);
  return withClient(resolveContext(flags), (client) => waitForGroup(client, id, flags, signal));
}

const LOOK_MS = 1_000;

/** Waits until all members have ended. @returns 0 if all succeeded, else 1 */
export async function waitForGroup(
  client: JobClient,
  id: string,
  { output, timeout = 0 }: Pick<WaitFlags, 'output' | 'timeout'>,
  signal: AbortSignal,
): Promise<number> {
  const screen = openScreen(output === 'json');
  const progress = new GroupProgress(screen);
  for (;;) {
    const [row, known] = await Promise.all([client.group(id), client.count({ group: id })]).catch((error: unknown) => {
      if (!isOutage(error)) throw error;
      return [];
    });
    if (row?.end !== undefined) throw endedFromOutside(row);
    if (row?.endedAt !== undefined) break;
    if (row && known) progress.tell(row, known.total - known.open);
    await pause(LOOK_MS, signal);
    if (!signal.aborted) continue;
    screen.current(undefined);
    if (signal.reason === 'timeout')
      throw new CliError(
        ExitCode.TimedOut,
        `group ${id} has not ended within ${timeout / 1_000} s; it goes on`,
        `\`jobctl wait ${id}\` waits on, \`jobctl status ${id}\` shows where it stands`,
      );
    printErr(`\ngroup ${id} goes on\n`);
    return ExitCode.Interrupted;
  }
  screen.current(undefined);
  const view = await client.describeGroup(id);
  const { marks } = view.state;
  const isGood = Array.from(marks).every((mark) => mark === MemberMark.Succeeded || mark === MemberMark.Gap);
  if (output === 'json') {
    printOut(`${JSON.stringify({ id, counts: Object.fromEntries(namedCounts(view.state)) }, null, 2)}\n`);
  } else {
    for (const [index, mark] of Array.from(marks).entries())
      if (hasFailed(mark)) screen.line(bothWays(failedLine(view, index)));
    screen.line(bothWays(`group ${id}: ${countsText(countsByWord(marks))}`));
  }
  return isGood ? ExitCode.Done : ExitCode.Failed;
}

/** Lines of a group in a pipe: at each tenth of its members. */
const TOLD_LINES = 10;

/** A current line on a terminal. In a pipe what it waits for, and a line for each tenth of the members that has ended. */
export class GroupProgress {
  readonly #screen: Pick<Screen, 'line' | 'current'>;
  #awaited: string | undefined;
  #tenth = 0;

  constructor(screen: Pick<Screen, 'line' | 'current'>) {
    this.#screen = screen;
  }

  /** @param ended members, of all rounds */
  tell({ id, members, awaited }: Pick<GroupRow, 'id' | 'members' | 'awaited'>, ended: number): void {
    const text = awaited === undefined ? `${ended} of ${count(members, 'member')} have ended` : `waits for ${awaited}`;
    this.#screen.current(text);
    const tenth = Math.floor((ended * TOLD_LINES) / Math.max(1, members));
    if (awaited === this.#awaited && tenth <= this.#tenth) return;
    this.#awaited = awaited;
    this.#tenth = tenth;
    this.#screen.line({ plain: `group ${id}: ${text}` });
  }
}

const bothWays = (line: string) => ({ live: line, plain: line });

const endedFromOutside = ({ id, end }: GroupRow): CliError =>
  end === 'refused'
    ? new CliError(
        ExitCode.Failed,
        `group ${id}: its input was refused`,
        `\`jobctl list --group ${id}\` shows its jobs`,
      )
    : new CliError(
        ExitCode.Failed,
        `group ${id} was ended in Temporal from outside; members that run go on`,
        asTyped(`\`jobctl status ${id}\` shows them, \`jobctl cancel ${id}\` ends them`),
        asTyped(`\`jobctl retry ${id} --failed\` lets the group begin again and find them`),
      );

/** A group among other ids of `jobctl wait`. */
export const groupEndLine = (row: GroupRow): string =>
  row.end === undefined
    ? `group ${row.id}: ${countsText(row.counts ?? {})}`
    : (endedFromOutside(row).message.split('\n')[0] ?? '');

/** Judges by its row alone. */
export const hasSucceeded = ({ end, counts = {} }: GroupRow): boolean =>
  end === undefined && Object.keys(counts).every((word) => word === 'succeeded');

function failedLine({ group, array, state }: GroupView, index: number): string {
  const word = wordOfMark(state.marks[index]) ?? 'failed';
  return `${memberId({ group, index, round: roundAt(state, index) })} ${word}: ${assignmentText(assignmentAt(array, index))}`;
}

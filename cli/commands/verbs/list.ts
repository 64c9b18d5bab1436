import { type Board, gatherBoard, type Sort } from '../../../client/job-board.js';
import type { JobClient } from '../../../client/job-client.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { asKnown } from '../../place/asker.js';
import { withClient, openReader } from '../../place/connect.js';
import { type CliContext, type ContextFlags, resolveContext } from '../../place/context.js';
import { groupsOfBoard } from '../../jobs/groups/board.js';
import { boardFilter, type FilterFlags } from '../../jobs/job-filter.js';
import type { OutputFlag } from '../../terminal/options.js';
import {
  placesIn,
  type PublishedLines,
  publishedLines,
  boardLines,
  renderBoard,
  type ShownBoard,
} from '../../jobs/render-job-list.js';
import { type Look, lookOf } from '../../terminal/render/look.js';
import { clockTime } from '../../terminal/render/quantities.js';
import { unattended } from '../../jobs/unattended.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { isOutage, pause } from '../../../client/errors.js';
import { painted, printPainted } from '../../terminal/print.js';
import type { FailingWorkflows } from '../../../contract/janitor.js';
import { failingWorkflowsObject } from '../../../domain/store-layout.js';
import type { JobRow } from '../../../client/job-rows.js';

export interface ListFlags extends ContextFlags, OutputFlag, FilterFlags {
  readonly limit: number;
  readonly sort: Sort;
  readonly watch?: true;
}

export function list(flags: ListFlags): Promise<number> {
  const context = resolveContext(flags);
  if (flags.watch === true) mustBeWatchable(flags);
  return withClient(context, async (client) => {
    const known = await asKnown(client, context, flags);
    const boardNow = (): Promise<ShownBoard> => boardOf(client, context, known, flags);
    if (flags.watch === true) return watch(boardNow);
    const board = await boardNow();
    const text =
      flags.output === 'json'
        ? JSON.stringify(asJson(board), null, 2)
        : boardLines(renderBoard(board, Date.now(), lookOf(process.stdout, process.env))).join('\n');
    printPainted(`${text}\n`);
    return ExitCode.Done;
  });
}

async function boardOf(
  client: JobClient,
  context: CliContext,
  known: Pick<CliContext, 'user'>,
  flags: ListFlags,
): Promise<ShownBoard> {
  const { filter, endedWithin } = boardFilter(flags, Date.now(), known);
  let published: PublishedLines = { lines: [] };
  const linesOf = async (pools: readonly string[]): Promise<Board['lines']> =>
    (published = await publishedLines(pools, context)).lines;
  const [board, found, failing] = await Promise.all([
    gatherBoard(client, filter, { limit: flags.limit, sort: flags.sort, linesOf }),
    groupsOfBoard(client, filter, flags.limit),
    knownToFail(context),
  ]);
  // A name that is wrong looks like a group without members, and one that was just submitted is in no index yet.
  const isUnseen = flags.group !== undefined && board.total + found.length === 0 && flags.phase === undefined;
  const groups = isUnseen ? [await client.group(flags.group)] : found;
  const open = board.rows.find(({ endedAt }) => endedAt === undefined);
  const [rows, places, noWorker] = await Promise.all([
    withFailingTasks(board.rows, failing, client),
    placesIn(published, board.rows),
    open && unattended(client, open),
  ]);
  return {
    ...board,
    groups,
    rows,
    places,
    ...(noWorker && { noWorker }),
    ...(endedWithin === undefined ? {} : { endedWithin }),
  };
}

/** The JSON form. docs/cli.md documents each key, because scripts read it. */
function asJson({ groups, rows, total, open, phases, places, noWorker }: ShownBoard): object {
  return {
    groups,
    jobs: rows.map((row) => ({ ...row, ...places.byJob.get(row.id) })),
    total,
    open,
    phases: Object.fromEntries(phases),
    ...(noWorker && { noWorker }),
  };
}

// Watching -----------------------------------------------------------------------------------------------------------

const LOOK_EVERY_MS = 2_000;

function mustBeWatchable({ output }: ListFlags): void {
  if (output !== 'json' && lookOf(process.stdout, process.env).isLive) return;
  throw new CliError(
    ExitCode.Usage,
    'jobctl list: --watch draws on a terminal, and this is none',
    'a script repeats `jobctl list --output json`',
  );
}

/** Redraws the board until Ctrl-C. */
async function watch(boardNow: () => Promise<ShownBoard>): Promise<number> {
  const end = watchEnd();
  process.stdout.write(CLEAR);
  while (!end.aborted) {
    const look = lookOf(process.stdout, process.env);
    const lines = await boardNow().then(
      (board) => watchLines(board, look),
      (error: unknown) => {
        if (!isOutage(error)) throw error;
        return [`${clockTime(Date.now())} ${(error as Error).message}: looking again ..`];
      },
    );
    if (!end.aborted) draw(lines);
    await pause(LOOK_EVERY_MS, end);
  }
  return ExitCode.Interrupted;
}

/** The screen of `--watch`. The summary comes first, because a screen is cut at its end. */
function watchLines(board: ShownBoard, look: Look): readonly string[] {
  const now = Date.now();
  const { heading, groups, table, summary } = renderBoard(board, now, look);
  return [`${new Date(now).toLocaleTimeString('en-GB')}   Ctrl-C ends it`, ...heading, ...summary, ...groups, ...table];
}

const CLEAR = '\u001b[2J\u001b[H';
const HOME = '\u001b[H';
const ERASE_TO_LINE_END = '\u001b[K';
const ERASE_BELOW = '\u001b[J';

function draw(lines: readonly string[]): void {
  // A terminal without a known size says 0.
  const height = process.stdout.rows || 24;
  const fitting = lines.slice(0, Math.max(1, height - 1));
  const drawn = fitting.map((line) => `${painted(line)}${ERASE_TO_LINE_END}\n`);
  process.stdout.write(`${HOME}${drawn.join('')}${ERASE_BELOW}`);
}

/** Ids of workflows that were blocked at the janitor's last sweep. Empty if no bucket is known or readable. */
async function knownToFail({ store }: CliContext): Promise<ReadonlySet<string>> {
  if (store === undefined) return new Set();
  try {
    const content = await (await openReader(store)).read(failingWorkflowsObject);
    return new Set(content && (JSON.parse(content.toString('utf8')) as FailingWorkflows).ids);
  } catch {
    return new Set();
  }
}

/** Reads the failing tasks of open `rows` that are known to fail, and of no others: a list must not make one call per row. */
export async function withFailingTasks(
  rows: readonly JobRow[],
  known: ReadonlySet<string>,
  client: Pick<JobClient, 'row'>,
): Promise<readonly JobRow[]> {
  const asked = rows.filter(({ id, endedAt }) => endedAt === undefined && known.has(id));
  // A job that cannot be read, such as one deleted meanwhile, does not keep others from the list.
  const task = (id: string): Promise<JobRow['failingTask']> =>
    client.row(id).then(
      ({ failingTask }) => failingTask,
      () => undefined,
    );
  const failing = await Promise.all(asked.map(async ({ id }) => [id, await task(id)] as const));
  const byId = new Map(failing);
  return rows.map((row) => {
    const failingTask = byId.get(row.id);
    return failingTask === undefined ? row : { ...row, failingTask };
  });
}

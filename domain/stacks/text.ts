import {
  type Frame,
  frameOf,
  type HostStacks,
  MOST_PROCESSES,
  problemOf,
  type ProcessStacks,
  processOf,
  threadOf,
  type ThreadStack,
} from './stack.js';

/**
 * The stacks of one host as text for people. It is stored beside the host's logs, and `parseStacks` reads it back.
 *
 * ```text
 * process 4711: python3 (state S, in futex_do_wait, local rank 0)
 *   thread MainThread
 *     all_reduce (/home/u/train.py:120)
 * process 4712: trainer (state R)
 * ```
 */
export function stacksText({ processes, problem }: Pick<HostStacks, 'processes' | 'problem'>): string {
  const lines = processes.flatMap((process) => [
    `process ${process.pid}: ${process.name} (${stateText(process)})`,
    ...(process.threads ?? []).flatMap(({ name, frames }) => [
      `  thread ${name}`,
      ...frames.map((frame) => `    ${frame.function} (${frame.file}:${frame.line})`),
    ]),
    ...(process.problem === undefined ? [] : [`  no stack: ${process.problem}`]),
  ]);
  return [...lines, ...(problem === undefined ? [] : [`incomplete: ${problem}`])].map((line) => `${line}\n`).join('');
}

/** Bound for one host: a training program does not have so many processes and threads. */
const MOST_STORED = 4_000_000;

/** The same text as it is stored: without the last processes, if it would be too long. */
export function storedStacksText({ processes, problem }: Pick<HostStacks, 'processes' | 'problem'>): string {
  let length = 0;
  const kept = processes.filter((process) => (length += stacksText({ processes: [process] }).length) <= MOST_STORED);
  if (kept.length === processes.length) return stacksText({ processes, ...(problem !== undefined && { problem }) });
  return stacksText({
    processes: kept,
    problem: 'its stacks are too long: those of the last processes are not stored',
  });
}

/** `state S, in futex_do_wait, local rank 0`. */
export function stateText({ state, waitsIn, localRank }: ProcessStacks): string {
  const parts = [
    `state ${state}`,
    ...(waitsIn === undefined ? [] : [`in ${waitsIn}`]),
    ...(localRank === undefined ? [] : [`local rank ${localRank}`]),
  ];
  return parts.join(', ');
}

interface Draft {
  readonly head: Pick<ProcessStacks, 'pid' | 'name' | 'state' | 'waitsIn' | 'localRank'>;
  threads?: { readonly name: string; readonly frames: Frame[] }[];
  problem?: string;
}

/** Reads the text that `stacksText` wrote. Hosts may write into the store too: other lines are skipped. */
export function parseStacks(text: string, host: number): HostStacks {
  const drafts: Draft[] = [];
  let problem: string | undefined;
  for (const line of text.split('\n')) {
    const last = drafts.at(-1);
    const [, pid, name = '', state = '?', waitsIn, localRank] = HEAD.exec(line) ?? [];
    if (pid !== undefined) {
      if (drafts.length === MOST_PROCESSES) break;
      drafts.push({
        head: {
          ...{ pid: Number(pid), name, state },
          ...(waitsIn !== undefined && { waitsIn }),
          ...(localRank !== undefined && { localRank: Number(localRank) }),
        },
      });
    } else if (line.startsWith('incomplete: ')) problem = problemOf(line.slice('incomplete: '.length));
    else if (last !== undefined) readInto(last, line);
  }
  return { host, processes: drafts.map(finished), ...(problem !== undefined && { problem }) };
}

function readInto(draft: Draft, line: string): void {
  // A host may have written the object: no line of ours is as long, and the patterns below are not made for longer ones.
  if (line.length > MOST_LINE) return;
  const [, name = '?', file = '?', at] = FRAME.exec(line) ?? [];
  if (at !== undefined) draft.threads?.at(-1)?.frames.push(frameOf(name, file, Number(at)));
  else if (line.startsWith('  thread ')) (draft.threads ??= []).push({ name: line.slice(9), frames: [] });
  else if (line.startsWith('  no stack: ')) draft.problem = line.slice('  no stack: '.length);
}

function finished({ head, threads, problem }: Draft): ProcessStacks {
  const read = threads?.map(({ name, frames }): ThreadStack => threadOf(name, frames));
  return processOf({ ...head, ...(read && { threads: read }), ...(problem !== undefined && { problem }) });
}

/** In characters: more than a frame, a thread's name or a problem has. */
const MOST_LINE = 2_000;
const HEAD = /^process (\d{1,9}): (.*) \(state (.)(?:, in ([\w.]{1,64}))?(?:, local rank (\d{1,6}))?\)$/;
const FRAME = /^ {4}(.+?) \((.*):(\d{1,8})\)$/;

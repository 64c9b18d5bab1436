import type { Told } from './evidence.js';

/** One start of a command on one host, from the command's own reports. */
export interface CommandProcess {
  readonly job: string;
  readonly attempt: number;
  readonly slice: number;
  readonly host: number;
  readonly process: string;
  readonly begunAt: number;
  /** The slice's name in the cloud. */
  readonly node: string;
  /** The host's name, as its kernel reports it; empty if the command did not report it. */
  readonly hostName: string;
  readonly lines: readonly string[];
  /** The first SIGTERM, and the notice that was there. */
  readonly term?: { readonly at: number; readonly notice: string };
  readonly end?: { readonly at: number; readonly code: number; readonly isEarly: boolean };
  /** When its connection ended without an END. */
  readonly goneAt?: number;
}

/** Whether the command ended by itself, by its own report. A program that ignores SIGTERM may do so after one. */
export const endedByItself = ({ end }: CommandProcess): boolean => end?.isEarly === false;

/** All starts of commands, in order of time. A report counts once, even if listener and host file both have it. */
export function processesOf(told: readonly Told[]): readonly CommandProcess[] {
  const byProcess = new Map<string, Told[]>();
  for (const each of told) {
    const list = byProcess.get(each.process) ?? [];
    list.push(each);
    byProcess.set(each.process, list);
  }
  return [...byProcess.values()].flatMap(processOf).toSorted((a, b) => a.begunAt - b.begunAt);
}

function processOf(told: readonly Told[]): readonly CommandProcess[] {
  const byNumber = new Map(told.map((each) => [each.number, each]));
  const inOrder = [...byNumber.values()].toSorted((a, b) => a.number - b.number);
  const [first] = inOrder;
  if (first === undefined) return [];
  const { job, attempt, slice, host, process } = first;
  const begin = inOrder.find(({ kind }) => kind === 'BEGIN') ?? first;
  const term = inOrder.find(({ kind }) => kind === 'TERM');
  const end = inOrder.find(({ kind }) => kind === 'END');
  const gone = inOrder.find(({ kind }) => kind === 'GONE');
  return [
    {
      ...{ job, attempt, slice, host, process },
      begunAt: begin.at,
      node: begin.kind === 'BEGIN' ? begin.text : '',
      hostName: inOrder.find(({ kind }) => kind === 'HOST')?.text ?? '',
      lines: inOrder.filter(({ kind }) => kind === 'LINE').map(({ text }) => text),
      ...(term === undefined ? {} : { term: { at: term.at, notice: term.text } }),
      ...(end === undefined ? {} : { end: endOf(end) }),
      ...(gone === undefined ? {} : { goneAt: gone.at }),
    },
  ];
}

function endOf({ at, text }: Told): { readonly at: number; readonly code: number; readonly isEarly: boolean } {
  const [code, how] = text.split(' ');
  return { at, code: Number(code), isEarly: how !== 'all' };
}

/** The names that deeds and the journal use for the places of these processes: slices, and the pool's own machines. */
export const placesOf = (processes: readonly CommandProcess[]): ReadonlySet<string> =>
  new Set(processes.flatMap(({ node, hostName }) => (hostName === '' ? [node] : [node, hostName])));

/** The job's processes by attempt, in the order of attempts. */
export function attemptsOf(
  processes: readonly CommandProcess[],
  job: string,
): readonly { readonly number: number; readonly processes: readonly CommandProcess[] }[] {
  const own = processes.filter((each) => each.job === job);
  const numbers = [...new Set(own.map(({ attempt }) => attempt))].toSorted((a, b) => a - b);
  return numbers.map((number) => ({ number, processes: own.filter(({ attempt }) => attempt === number) }));
}

export const placeOf = ({ attempt, slice, host }: { attempt: number; slice: number; host: number }): string =>
  `attempt ${attempt}, slice ${slice}, host ${host}`;

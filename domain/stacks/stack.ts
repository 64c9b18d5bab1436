import { boundedLine } from '../visible-text.js';

/** Current calls of the processes of a job's command, as its hosts report them (docs/adr/0127). */

/** A call in py-spy's terms. */
export interface Frame {
  readonly function: string;
  /** A path on the host, or a name such as `<frozen runpy>`. */
  readonly file: string;
  readonly line: number;
}

export interface ThreadStack {
  readonly name: string;
  /** Innermost call first. */
  readonly frames: readonly Frame[];
}

export interface ProcessStacks {
  readonly pid: number;
  /** Name in the kernel: the program's, or one that the process gave itself. */
  readonly name: string;
  /** Letter of proc(5): R runs, S sleeps, D waits for a device and cannot be interrupted, T is stopped. */
  readonly state: string;
  /** Function of the kernel in which it sleeps. Absent: it runs, or the kernel does not say. */
  readonly waitsIn?: string;
  /** Its rank on its host, from its environment (torchrun, Open MPI, Slurm). Absent: it has no rank. */
  readonly localRank?: number;
  /** The main thread first. Absent: the process is not Python, or `problem` says why its threads are not known. */
  readonly threads?: readonly ThreadStack[];
  /** Only for a Python process. */
  readonly problem?: string;
}

export interface HostStacks {
  /** Position among all hosts of the attempt. */
  readonly host: number;
  /** Ordered by process id. */
  readonly processes: readonly ProcessStacks[];
  /** The reason why some processes, or all, are missing. Absent: none is. */
  readonly problem?: string;
}

/** Bounds for a host's report. Anything beyond them is left out. */
export const MOST_PROCESSES = 128;
const MOST_THREADS = 64;
const MOST_FRAMES = 256;
const MOST_NAME = 120;
const MOST_FILE = 300;
const MOST_PROBLEM = 400;
const MOST_LINE = 10_000_000;

/** Makes a frame from a host's report, which may be hostile: single lines that can be shown. Stored text is parsed by ` (`. */
export function frameOf(name: string, file: string, line: number): Frame {
  return {
    function: boundedLine(name, MOST_NAME).replaceAll(' (', '(') || '?',
    file: boundedLine(file, MOST_FILE) || '?',
    line: Number.isInteger(line) && line >= 0 && line <= MOST_LINE ? line : 0,
  };
}

export const threadOf = (name: string, frames: readonly Frame[]): ThreadStack => ({
  name: boundedLine(name, MOST_NAME),
  frames: frames.slice(0, MOST_FRAMES),
});

/** @param said a host's report, which may contain anything */
export function processOf(said: ProcessStacks): ProcessStacks {
  const { pid, name, state, waitsIn, localRank, threads, problem } = said;
  return {
    pid,
    name: boundedLine(name, MOST_NAME) || '?',
    state: /^[A-Za-z]$/.test(state) ? state : '?',
    ...(waitsIn !== undefined && /^[A-Za-z_][\w.]{0,63}$/.test(waitsIn) && { waitsIn }),
    ...(localRank !== undefined && { localRank }),
    ...(threads && { threads: threads.slice(0, MOST_THREADS) }),
    ...(problem !== undefined && { problem: problemOf(problem) }),
  };
}

export const problemOf = (text: string): string => boundedLine(text, MOST_PROBLEM) || 'unknown';

export const isPython = ({ threads, problem }: ProcessStacks): boolean =>
  threads !== undefined || problem !== undefined;

/** Calls of the main thread. */
export const framesOf = ({ threads }: ProcessStacks): readonly Frame[] => threads?.[0]?.frames ?? [];

export const fileName = ({ file }: Frame): string => file.slice(file.lastIndexOf('/') + 1) || file;

/** `all_reduce (distributed_c10d.py:2501)`. */
export const frameText = (frame: Frame): string => `${frame.function} (${fileName(frame)}:${frame.line})`;

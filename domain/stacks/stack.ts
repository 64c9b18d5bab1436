import { boundedLine } from '../visible-text.js';

/** What the processes of a job's command are doing, as its hosts say it (docs/adr/0127). */

/** A call, as py-spy names it. */
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
  /** As the kernel has it: the program's, or the one that the process gave itself. */
  readonly name: string;
  /** A letter, as in proc(5): R runs, S sleeps, D waits for a device and cannot be interrupted, T is stopped. */
  readonly state: string;
  /** The function of the kernel that it sleeps in. Absent: it runs, or the kernel does not say. */
  readonly waitsIn?: string;
  /** Its rank on its host, by its environment (torchrun, Open MPI, Slurm). Absent: it has none. */
  readonly localRank?: number;
  /** The main thread first. Absent: it is not Python, or `problem` says why they are not known. */
  readonly threads?: readonly ThreadStack[];
  /** Of a Python process. */
  readonly problem?: string;
}

export interface HostStacks {
  /** Position among all hosts of the attempt. */
  readonly host: number;
  /** By process id. */
  readonly processes: readonly ProcessStacks[];
  /** Why processes are missing, or all of them. Absent: none are. */
  readonly problem?: string;
}

/** Bounds of what is believed of a host: what is beyond is left out. */
export const MOST_PROCESSES = 128;
const MOST_THREADS = 64;
const MOST_FRAMES = 256;
const MOST_NAME = 120;
const MOST_FILE = 300;
const MOST_PROBLEM = 400;
const MOST_LINE = 10_000_000;

/** A frame of what a host says, which is hostile: one line each that can be shown. The text of a stored stack is read back by ` (`. */
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

/** @param said may hold anything */
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

/** Of the main thread. */
export const framesOf = ({ threads }: ProcessStacks): readonly Frame[] => threads?.[0]?.frames ?? [];

export const fileName = ({ file }: Frame): string => file.slice(file.lastIndexOf('/') + 1) || file;

/** `all_reduce (distributed_c10d.py:2501)`. */
export const frameText = (frame: Frame): string => `${frame.function} (${fileName(frame)}:${frame.line})`;

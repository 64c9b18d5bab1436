import { visibleText } from '../../../domain/visible-text.js';
import { lookOf } from '../render/look.js';
import { HostLines } from '../watch/host-lines.js';
import type { JobHost } from './job-hosts.js';

/** How a command ended on one host. */
export interface HostEnd {
  readonly host: JobHost;
  readonly exitCode: number;
  readonly signal?: string;
  /** It could not be reached. */
  readonly error?: string;
}

/** Where the output of a command on several hosts goes. A promise: the host is read no further until it is settled. */
export interface ExecOutput {
  stdout(host: JobHost, chunk: Buffer): Promise<void>;
  stderr(host: JobHost, chunk: Buffer): Promise<void>;
  end(ends: readonly HostEnd[]): Promise<void>;
}

/** Of one host: bytes as they are. Of several: whole lines, each under its host's number, as `logs` shows them. */
export function execOutput(isJson: boolean, hosts: number): ExecOutput {
  if (isJson) return jsonOutput();
  return hosts === 1 ? rawOutput() : labelledOutput();
}

function rawOutput(): ExecOutput {
  const [stdout, stderr] = [new Outlet(process.stdout), new Outlet(process.stderr)];
  return {
    stdout: (_host, chunk) => stdout.write([chunk]),
    stderr: (_host, chunk) => stderr.write([chunk]),
    end: (ends) => stderr.write(ends.flatMap(wordsOf)),
  };
}

function labelledOutput(): ExecOutput {
  const { bar } = lookOf(process.stdout, process.env).symbols;
  const [stdout, stderr] = [new Outlet(process.stdout), new Outlet(process.stderr)];
  const [lines, errors] = [new HostLines(bar), new HostLines(bar)];
  return {
    stdout: ({ number }, chunk) => stdout.write(lines.add(number, chunk)),
    stderr: ({ number }, chunk) => stderr.write(errors.add(number, chunk)),
    end: async (ends) => {
      await stdout.write(lines.end());
      await stderr.write([...errors.end(), ...ends.flatMap(wordsOf)]);
    },
  };
}

/** What a person should hear of an end; nothing of a good one. */
function wordsOf({ host, exitCode, signal, error }: HostEnd): Buffer[] {
  if (error !== undefined) return [Buffer.from(`host ${host.number}: ${visibleText(error)}\n`)];
  if (exitCode === 0) return [];
  return [Buffer.from(`host ${host.number}: ended with ${signal ?? `code ${exitCode}`}\n`)];
}

/** Of one stream of one host: a document is held in memory whole. */
const MOST_BYTES = 16 * 1024 * 1024;

/** One document when all have ended. */
function jsonOutput(): ExecOutput {
  const kept = { stdout: new Map<JobHost, Buffer[]>(), stderr: new Map<JobHost, Buffer[]>() };
  const keep = (stream: keyof typeof kept) => async (host: JobHost, chunk: Buffer) => {
    const chunks = kept[stream].get(host) ?? [];
    kept[stream].set(host, chunks);
    const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
    if (bytes < MOST_BYTES) chunks.push(chunk);
  };
  const textOf = (stream: keyof typeof kept, host: JobHost): string =>
    Buffer.concat(kept[stream].get(host) ?? []).toString();
  return {
    stdout: keep('stdout'),
    stderr: keep('stderr'),
    end: (ends) => {
      const hosts = ends.map(({ host, ...end }) => ({
        host: host.number,
        node: host.node,
        ...end,
        stdout: textOf('stdout', host),
        stderr: textOf('stderr', host),
      }));
      return new Outlet(process.stdout).write([Buffer.from(`${JSON.stringify({ hosts }, null, 2)}\n`)]);
    },
  };
}

/** Our stdout or stderr, as many hosts write to it: one waits for its reader, however many of them do. */
class Outlet {
  readonly #stream: NodeJS.WriteStream;
  #drained: Promise<void> | undefined;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  /** Settles when the reader has room for more. */
  write(parts: readonly Buffer[]): Promise<void> {
    const isFree = parts.map((part) => this.#stream.write(part)).every(Boolean);
    if (isFree) return Promise.resolve();
    return (this.#drained ??= new Promise((resolve) =>
      this.#stream.once('drain', () => {
        this.#drained = undefined;
        resolve();
      }),
    ));
  }
}

import type { CommandEnd, HostConnection } from '../../../cloud/hosts/port.js';
import { inLoginShell } from '../../../cloud/hosts/login-shell.js';
import { shellWords } from '../../../domain/shell-quote.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type HostResult, onEachHost, type ReachFlags, reachHosts, oneHost } from '../../jobs/hosts/reach.js';
import type { HostChoice, ForwardedPorts } from '../../jobs/job-filter.js';
import type { JobHost } from '../../jobs/hosts/job-hosts.js';
import type { OutputFlag } from '../../terminal/options.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { largest } from '../../../domain/extremes.js';
import { visibleText } from '../../../domain/outside-text.js';
import { lookOf } from '../../terminal/render/look.js';
import { HostLines } from '../../jobs/watch/screen.js';
import { createServer } from 'node:net';
import { startOpenSsh, forwardToPod, podShell, relayToHost } from '../../jobs/hosts/shell.js';
import { refreshAliases } from '../../jobs/hosts/ssh-alias.js';
import { asTyped, printOut } from '../../terminal/print.js';

/** Verbs that run commands on hosts of a job. `ssh` and `port-forward` run the OpenSSH client, `exec` our own. */

export interface SshFlags extends ReachFlags {
  readonly host: number;
  readonly stdio?: true;
}

/** Opens a shell or runs a command on one host. @returns the exit code of ssh: the remote command's, or 255 if the connection failed */
export async function ssh(job: string, flags: SshFlags, words: readonly string[] | undefined): Promise<number> {
  const reach = await reachHosts(job, [flags.host], flags);
  if (reach.by === 'exec') {
    if (flags.stdio === true) throw withoutSsh(job);
    return podShell(reach, words ?? []);
  }
  if (flags.stdio === true) {
    refreshAliases(reach);
    return relayToHost(reach, oneHost(reach));
  }
  return (await startOpenSsh(reach, oneHost(reach), words ?? [])).exitCode;
}

/** The error for a job whose hosts are pods, for verbs about SSH. */
export const withoutSsh = (job: string): CliError =>
  new CliError(
    ExitCode.Refused,
    `${job}: its hosts are pods, which no SSH client can reach`,
    asTyped(`a shell there: jobctl ssh ${job}; files: jobctl cp; a port: jobctl port-forward ${job} PORT`),
  );

export interface PortForwardFlags extends ReachFlags {
  readonly host: number;
}

/** Printed by ssh's LocalCommand as soon as the forwarded port is open. */
const LISTENS = 'jobctl-port-forward-listens';

/** Checks the port before ssh does, because ssh's message does not say what to do. @throws CliError */
function mustBeFree(port: number, another: string): Promise<void> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'is in use' : `cannot be listened at: ${error.message}`;
      reject(new CliError(ExitCode.Usage, `port ${port} of this computer ${why}`, `name another: ${another}`));
    });
    probe.listen(port, '127.0.0.1', () => void probe.close(() => resolve()));
  });
}

/** Forwards a loopback port of this computer to a port of a host until Ctrl-C. @throws CliError if the local port is in use */
export async function portForward(
  job: string,
  { local, remote }: ForwardedPorts,
  flags: PortForwardFlags,
): Promise<number> {
  await mustBeFree(local, asTyped(`jobctl port-forward ${job} ${local === 65_535 ? local - 1 : local + 1}:${remote}`));
  const reach = await reachHosts(job, [flags.host], flags);
  if (reach.by === 'exec') return forwardToPod(reach, { local, remote });
  const host = oneHost(reach);
  const options = { ExitOnForwardFailure: 'yes', PermitLocalCommand: 'yes', LocalCommand: `echo ${LISTENS}` };
  const words = [
    ...['-N', '-L', `127.0.0.1:${local}:localhost:${remote}`],
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
  ];
  const ssh = await startOpenSsh(reach, host, words, (text) => {
    if (text.includes(LISTENS))
      printOut(`http://127.0.0.1:${local} is port ${remote} of host ${host.number} of ${job}; Ctrl-C ends it\n`);
  });
  let isEnded = false;
  const end = (): void => {
    isEnded = true;
    ssh.kill('SIGTERM');
  };
  process.once('SIGINT', end).once('SIGTERM', end);
  const code = await ssh.exitCode;
  return isEnded ? ExitCode.Done : code;
}

export interface ExecFlags extends ReachFlags, OutputFlag {
  readonly host: HostChoice;
  readonly stdin?: true;
}

/** ssh's exit code for a failed connection. */
const UNREACHABLE = 255;

/**
 * Runs a command on hosts of a job, beside the job's own command and like it in a login shell.
 * @returns the highest exit code of the hosts; a signal counts as 128 or more, and 255 is a failed connection
 */
export async function exec(job: string, flags: ExecFlags, words: readonly string[] | undefined): Promise<number> {
  const command = inLoginShell(commandLine(job, words));
  const reach = await reachHosts(job, flags.host, flags);
  if (flags.stdin === true && reach.hosts.length > 1)
    throw new CliError(ExitCode.Usage, 'exec --stdin: takes one host; name it with --host');
  const signal = watchEnd();
  const output = execOutput(flags.output === 'json', reach.hosts.length);
  const stdin = flags.stdin === true ? process.stdin : undefined;
  const run = (connection: HostConnection, host: JobHost): Promise<CommandEnd> =>
    connection.exec(command, {
      ...(stdin === undefined ? {} : { stdin }),
      onStdout: (chunk) => output.stdout(host, chunk),
      onStderr: (chunk) => output.stderr(host, chunk),
      signal,
    });
  try {
    const results = await onEachHost(reach, signal, run);
    await finish(output, results);
    return largest(results.map(codeOf), 0);
  } catch (error) {
    if (signal.aborted) return ExitCode.Interrupted;
    throw error;
  }
}

/** Quotes several words one by one and takes a single word as a shell line, as after `submit FILE --`. */
function commandLine(job: string, words: readonly string[] | undefined): string {
  const [first, ...more] = words ?? [];
  if (first === undefined)
    throw new CliError(
      ExitCode.Usage,
      `jobctl exec ${job}: no command after --`,
      "such as -- df -h, or -- 'ls ~ | wc -l'",
    );
  return more.length === 0 ? first : shellWords([first, ...more]);
}

async function finish(output: ExecOutput, results: readonly HostResult<CommandEnd>[]): Promise<void> {
  await output.end(
    results.map((result) =>
      result.kind === 'unreachable'
        ? { host: result.host, exitCode: UNREACHABLE, error: result.message }
        : { host: result.host, exitCode: codeOf(result), ...(result.value.signal && { signal: result.value.signal }) },
    ),
  );
}

/** Numbers of signals for exit codes. Scripts should not rely on those of other signals. */
const SIGNAL_NUMBERS: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGKILL: 9, SIGTERM: 15 };

function codeOf(result: HostResult<CommandEnd>): number {
  if (result.kind === 'unreachable') return UNREACHABLE;
  return result.value.code ?? 128 + (SIGNAL_NUMBERS[result.value.signal ?? ''] ?? 0);
}

/** The end of a command on one host. */
export interface HostEnd {
  readonly host: JobHost;
  readonly exitCode: number;
  readonly signal?: string;
  /** The error, if the host could not be reached. */
  readonly error?: string;
}

/** Receives the output of a command on several hosts. A host is not read further until the returned promise settles. */
interface ExecOutput {
  stdout(host: JobHost, chunk: Buffer): Promise<void>;
  stderr(host: JobHost, chunk: Buffer): Promise<void>;
  end(ends: readonly HostEnd[]): Promise<void>;
}

/** The output of one host is passed on byte for byte, that of several hosts in whole lines with host numbers, like in `logs`. */
function execOutput(isJson: boolean, hosts: number): ExecOutput {
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

/** The message for people about an end; empty if the command succeeded. */
function wordsOf({ host, exitCode, signal, error }: HostEnd): Buffer[] {
  if (error !== undefined) return [Buffer.from(`host ${host.number}: ${visibleText(error)}\n`)];
  if (exitCode === 0) return [];
  return [Buffer.from(`host ${host.number}: ended with ${signal ?? `code ${exitCode}`}\n`)];
}

/** Most bytes kept of one stream of one host: a document is held in memory whole. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Prints one JSON document after all hosts have ended. */
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

/** Our stdout or stderr, shared by many hosts: all of them wait for one `drain` event of its reader. */
class Outlet {
  readonly #stream: NodeJS.WriteStream;
  #drained: Promise<void> | undefined;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  /** Resolves once the reader has room for more. */
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

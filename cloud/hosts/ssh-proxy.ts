import { adoptedName, machineKind } from '../../domain/machines.js';
import { type ChildProcess, spawn } from 'node:child_process';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { shellQuote } from '../../domain/shell-quote.js';
import { OutputTail } from './remote-exec.js';
import type { SshTarget } from './port.js';

/** The destination of a proxy command; `hostname` is the VM's own name, which IAP tunnels use. */
export interface ProxyDestination {
  readonly target: SshTarget;
  readonly port: number;
  readonly hostname?: string;
}

export interface ProxySocket {
  /** The command's stdin and stdout. Destroying it ends the command. */
  readonly socket: Duplex;
  /** Destroys the socket and returns the command's end and last output, for a message. */
  explain(): Promise<string>;
}

const TAIL_LINES = 5;
/** Time from SIGTERM to SIGKILL. */
const GRACE_MS = 2_000;
/** Time from the end of the connection to SIGTERM, so that the command can end by itself and print its last output. */
const LAST_WORDS_MS = 500;

/**
 * Fills in a ProxyCommand like OpenSSH: `%h` address, `%p` port, `%r` user, `%n` the VM's own name, `%%`. Each value is quoted as
 * one word of the shell, so the template needs no quotes around it.
 * @throws RangeError for another token
 */
export function proxyCommandLine(template: string, { target, port, hostname }: ProxyDestination): string {
  const values: Readonly<Record<string, string | undefined>> = {
    h: target.address,
    p: String(port),
    r: target.user,
    n: hostname,
  };
  return template.replace(/%(.?)/gs, (token, letter: string) => {
    if (letter === '%') return '%';
    if (!Object.hasOwn(values, letter))
      throw new RangeError(`ProxyCommand '${template}': '${token}' is unknown; there are %h, %p, %r, %n and %%`);
    const value = values[letter];
    if (value === undefined) throw new RangeError(`ProxyCommand '${template}': the host's own name (%n) is not known`);
    return shellQuote(value);
  });
}

/** @throws RangeError if the template contains an unknown token; needs no host */
export function checkProxyCommand(template: string): void {
  const target: SshTarget = { reach: 'ssh', uid: '', slice: 0, index: 0, address: '-', user: '-' };
  proxyCommandLine(template, { target, port: 22, hostname: '-' });
}

export const needsHostname = (template: string): boolean => template.replaceAll('%%', '').includes('%n');

/** Starts the command in a separate process group. Its environment names the node, because a tunnel may need the zone. */
export function startProxy(template: string, destination: ProxyDestination): ProxySocket {
  const line = proxyCommandLine(template, destination);
  const { ref } = destination.target;
  const node = ref && {
    JOBCTL_NODE_NAME: adoptedName(ref) ?? ref.name,
    JOBCTL_ZONE: ref.zone,
    ...machineKind(ref.kind).proxyVariables(ref),
  };
  const child = spawn('/bin/sh', ['-c', `exec ${line}`], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...node },
  });
  const tail = new OutputTail(TAIL_LINES);
  child.stderr.on('data', (chunk: Buffer) => tail.add(chunk));
  const socket = Duplex.from({ readable: child.stdout, writable: child.stdin });
  socket.on('error', () => undefined);
  // A silent proxy may stay open, and ssh2 would wait for the end of the connection for ever.
  socket.once('end', () => socket.destroy(new Error('the proxy command closed the connection')));
  const ended = endOf(child);
  // A command whose connection is over ends by itself, and may print something before.
  let isEndedHere = false;
  const end = (): void => {
    isEndedHere = true;
    endGroup(child);
  };
  socket.once('close', () => setTimeout(end, LAST_WORDS_MS).unref());
  return {
    socket,
    explain: async () => {
      socket.destroy();
      const seen = await Promise.race([ended, sleep(LAST_WORDS_MS, NO_CONNECTION)]);
      // If our own signal ended the command, its end tells nothing about it.
      const how = isEndedHere ? NO_CONNECTION : seen;
      const said = tail.text();
      return `ProxyCommand '${line}' ${how}${said && `: ${said}`}`;
    },
  };
}

const NO_CONNECTION = 'gave no connection';

/** Resolves after the command's last output. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', ({ message }) => resolve(`cannot be started (${message})`));
    child.once('close', (code, signal) => resolve(signal ? `was ended by ${signal}` : `ended with code ${code}`));
  });
}

function endGroup(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const signal = (name: NodeJS.Signals): void => {
    try {
      process.kill(-pid, name);
    } catch {
      // The command has already ended.
    }
  };
  signal('SIGTERM');
  const kill = setTimeout(() => signal('SIGKILL'), GRACE_MS).unref();
  child.once('exit', () => clearTimeout(kill));
}

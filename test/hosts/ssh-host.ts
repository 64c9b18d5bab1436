/**
 * A host for tests: an SSH server in this process whose commands are real bash processes with a HOME of their own. Harsher than
 * sshd in one way: when a channel or the connection is cut, the session's process group gets SIGHUP.
 */
import type { ChildProcess, ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection, ServerChannel, Session } from 'ssh2';
import ssh2 from 'ssh2';
import type { SshTarget } from '../../cloud/hosts/port.js';

export interface KeyPair {
  readonly private: string;
  readonly public: string;
}

/** ssh2's generator makes a key that cannot be read in 15 of 4000 (docs/facts.md, "gcloud and the VMs"). */
export function makeKeyPair(): KeyPair {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair;
  }
}

export interface TestHost {
  readonly port: number;
  readonly home: string;
  readonly target: SshTarget;
  /** Connections accepted so far. */
  connections(): number;
  /** Breaks every open connection without a farewell. */
  cut(): void;
  /** From now on: connections are refused. */
  stop(): Promise<void>;
}

export interface TestHostOptions {
  readonly authorized: KeyPair;
  readonly hostKey?: KeyPair;
  readonly home?: string;
  /** The words before `bash -c COMMAND`, such as nsenter's. */
  readonly enter?: readonly string[];
  /** Beside HOME, PATH and their kind. */
  readonly env?: Readonly<Record<string, string>>;
  readonly port?: number;
  readonly uid?: string;
}

export async function startTestHost(options: TestHostOptions): Promise<TestHost> {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), 'hosts-test-')));
  const open = new Set<Connection>();
  let accepted = 0;
  const server = new ssh2.Server({ hostKeys: [(options.hostKey ?? makeKeyPair()).private] }, (connection) => {
    accepted += 1;
    open.add(connection);
    (connection as unknown as { setNoDelay(isOn: boolean): void }).setNoDelay(true);
    connection.on('error', () => undefined).on('close', () => open.delete(connection));
    authenticate(connection, options.authorized);
    connection.on('session', (accept) => serveSession(accept(), home, options));
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const connection of open) (connection as unknown as { _sock: { destroy(): void } })._sock.destroy();
  };
  return {
    port,
    home,
    target: { reach: 'ssh', uid: options.uid ?? '4711', slice: 0, index: 2, address: '127.0.0.1', user: 'bob' },
    connections: () => accepted,
    cut,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      cut();
      await closed;
      killAllOf(home);
      if (options.home === undefined) await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function authenticate(connection: Connection, authorized: KeyPair): void {
  const allowed = ssh2.utils.parseKey(authorized.public);
  if (allowed instanceof Error) throw allowed;
  connection.on('authentication', (context) => {
    if (context.method !== 'publickey' || !context.key.data.equals(allowed.getPublicSSH()))
      return context.reject(['publickey']);
    if (context.signature && context.blob && !allowed.verify(context.blob, context.signature, context.hashAlgo)) {
      return context.reject(['publickey']);
    }
    context.accept();
  });
}

function serveSession(session: Session, home: string, { enter = [], env: more }: TestHostOptions): void {
  let child: ChildProcess | undefined;
  session.on('signal', (accept, _reject, info) => {
    signalGroup(child, `SIG${info.name}` as NodeJS.Signals);
    accept?.();
  });
  session.on('exec', (accept, _reject, info) => {
    const channel = accept();
    const words = [...enter, 'bash', '-c', info.command];
    // SSH_CLIENT makes bash read .bashrc, as under sshd.
    const login = { HOME: home, USER: 'bob', LOGNAME: 'bob', LANG: 'C.UTF-8', SSH_CLIENT: '127.0.0.1 1 22' };
    // No metadata server: what this computer has is none of the test's.
    const env = { ...login, PATH: '/usr/local/bin:/usr/bin:/bin', GCE_METADATA_HOST: '127.0.0.1:9', ...more };
    const [program = 'bash', ...rest] = words;
    const started = spawn(program, rest, { cwd: home, env, detached: true });
    child = started;
    connectStreams(started, channel);
  });
}

function connectStreams(child: ChildProcessWithoutNullStreams, channel: ServerChannel): void {
  child.stdin.on('error', () => undefined);
  channel.on('error', () => undefined);
  channel.pipe(child.stdin);
  child.stdout.pipe(channel, { end: false });
  child.stderr.pipe(channel.stderr, { end: false });
  // As sshd: the status when the process ends, the end of the channel when nobody holds its stdout any more.
  child.on('exit', (code, signal) => {
    if (signal) channel.exit(signal.replace('SIG', ''));
    else channel.exit(code ?? 255);
  });
  child.on('close', () => channel.end());
  channel.on('close', () => {
    signalGroup(child, 'SIGHUP');
    child.stdout.destroy();
    child.stderr.destroy();
  });
}

function signalGroup(child: ChildProcess | undefined, signal: NodeJS.Signals): void {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It ended by itself.
  }
}

/** Ends what the commands of this host left behind: all processes with its HOME, which no other has. */
function killAllOf(home: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`HOME=${home}`))
        process.kill(Number(pid), 'SIGKILL');
    } catch {
      // Not ours to read, or gone.
    }
  }
}

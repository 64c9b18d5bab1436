import { createServer } from 'node:net';
import type { Server as NetServer, Socket } from 'node:net';
import ssh2 from 'ssh2';
import type { AuthContext, ClientInfo, Connection } from 'ssh2';
import type { AuthorizedKey } from './authorized-keys.js';
import { isAuthorized } from './authorized-keys.js';
import type { ForwardingHost } from './forwarding.js';
import { serveForwarding } from './forwarding.js';
import type { LoginHost } from './session.js';
import { serveSession } from './session.js';

export interface SshServerPlan extends ForwardingHost {
  readonly port: number;
  /** Called at the first connection. */
  readonly privateKey: () => string;
  /** Keys in force now. */
  readonly authorizedKeys: () => readonly AuthorizedKey[];
  /** Current time for the expiry of keys, epoch ms. */
  readonly now: () => number;
}

export interface SshServer {
  /** false: open connections fall silent and new ones are never answered, as when a network is cut. */
  setReachable(isReachable: boolean): void;
  /** true: open and new connections are reset, as by a host whose sshd is down. */
  setRefusing(isRefusing: boolean): void;
  /** Delay of the first answer on a new connection, and on each of its sessions, ms; 0: no delay. */
  setDelay(delayMs: number): void;
  /** Closes the listener and cuts every connection. `silent`: they are left without an end, as by a host without power. */
  close(connections?: 'cut' | 'silent'): Promise<void>;
}

interface Faults {
  isReachable: boolean;
  isRefusing: boolean;
  delayMs: number;
}

/** Listens at the VM's address. If the address or port is not available, rejects with an error that says what to do. */
export async function startSshServer(plan: SshServerPlan, host: LoginHost): Promise<SshServer> {
  // Made for the first client: most VMs of a large slice never see one.
  let protocol: ssh2.Server | undefined;
  const faults: Faults = { isReachable: true, isRefusing: false, delayMs: 0 };
  const slowHost: LoginHost = { ...host, delayMs: () => faults.delayMs };
  const sockets = new Set<Socket>();
  const held = new Set<Socket>();
  const greet = (socket: Socket): void => {
    protocol ??= protocolServer(plan, slowHost);
    if (!socket.destroyed) protocol.injectSocket(socket);
  };
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => [sockets, held].forEach((set) => set.delete(socket)));
    if (faults.isRefusing) socket.resetAndDestroy();
    else if (!faults.isReachable) held.add(socket);
    else if (faults.delayMs === 0) greet(socket);
    else setTimeout(() => greet(socket), faults.delayMs).unref();
  });
  await listen(listener, plan);
  return {
    setReachable(isReachable) {
      faults.isReachable = isReachable;
      for (const socket of sockets) setSilent(socket, !isReachable);
      if (!isReachable) return;
      for (const socket of held) greet(socket);
      held.clear();
    },
    setRefusing(isRefusing) {
      faults.isRefusing = isRefusing;
      if (isRefusing) for (const socket of sockets) socket.resetAndDestroy();
    },
    setDelay: (delayMs) => void (faults.delayMs = delayMs),
    async close(connections = 'cut') {
      const closed = new Promise((resolve) => listener.close(resolve));
      if (connections === 'silent') return leave(sockets);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function leave(sockets: ReadonlySet<Socket>): void {
  for (const socket of sockets) {
    setSilent(socket, true);
    socket.unref();
    setTimeout(() => socket.destroy(), FORGET_MS).unref();
  }
}

/** Time after which a silent connection is dropped. Its client has given up by then, but the silence hides that. */
const FORGET_MS = 15 * 60_000;

function setSilent(socket: Socket, isSilent: boolean): void {
  if (isSilent) {
    socket.cork();
    socket.pause();
  } else {
    socket.uncork();
    socket.resume();
  }
}

async function listen(listener: NetServer, plan: SshServerPlan): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    listener.once('error', (error: NodeJS.ErrnoException) => {
      const place = `${plan.address}:${plan.port}`;
      const advice =
        error.code === 'EADDRINUSE' ? 'choose another subnet octet or SSH port' : 'choose another SSH port';
      reject(new Error(`TPU VM: cannot listen on ${place} (${error.code ?? error.message}): ${advice}`));
    });
    listener.listen(plan.port, plan.address, resolve);
  });
}

function protocolServer(plan: SshServerPlan, host: LoginHost): ssh2.Server {
  const server = new ssh2.Server({ hostKeys: [plan.privateKey()], ident: 'OpenSSH_8.2p1-rehearsal' });
  return server.on('connection', (connection: Connection, client) => serveConnection(plan, host, connection, client));
}

function serveConnection(plan: SshServerPlan, host: LoginHost, connection: Connection, client: ClientInfo): void {
  const peer = `${client.ip} ${client.port} ${plan.address} ${plan.port}`;
  let user = '';
  connection.on('error', () => undefined);
  connection.on('authentication', (context: AuthContext) => {
    if (context.method !== 'publickey') return context.reject(['publickey']);
    if (!isAuthorized(plan.authorizedKeys(), context, plan.now())) return context.reject(['publickey']);
    user = context.username;
    return context.accept();
  });
  connection.on('session', (accept) => serveSession(host, user, peer, accept()));
  serveForwarding(plan, connection);
  // Rejects keepalive@openssh.com and the like (any answer will do, silence would look like a dead host), and `ssh -R`.
  connection.on('request', (_accept, reject) => reject?.());
}

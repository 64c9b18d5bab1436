import { createServer } from 'node:net';
import type { Server as NetServer, Socket } from 'node:net';
import ssh2 from 'ssh2';
import type { Connection } from 'ssh2';
import type { AuthorizedKey } from './authorized-keys.js';
import { isAuthorized } from './authorized-keys.js';
import type { LoginHost } from './session.js';
import { serveSession } from './session.js';

export interface SshServerPlan {
  readonly address: string;
  readonly port: number;
  readonly privateKey: string;
  readonly authorizedKeys: readonly AuthorizedKey[];
}

export interface SshServer {
  /** false: connections that are open fall silent and new ones are never answered, as when a network is cut. */
  setReachable(isReachable: boolean): void;
  /** Closes the listener and cuts every connection. */
  close(): Promise<void>;
}

/** Listens at the VM's address. Rejects with what to do if the address or port cannot be had. */
export async function startSshServer(plan: SshServerPlan, host: LoginHost): Promise<SshServer> {
  const protocol = new ssh2.Server({ hostKeys: [plan.privateKey], ident: 'OpenSSH_8.2p1-rehearsal' });
  protocol.on('connection', (connection: Connection) => serveConnection(plan, host, connection));
  const sockets = new Set<Socket>();
  const held = new Set<Socket>();
  let isReachable = true;
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => [sockets, held].forEach((set) => set.delete(socket)));
    if (isReachable) protocol.injectSocket(socket);
    else held.add(socket);
  });
  await listen(listener, plan);
  return {
    setReachable(reachable) {
      isReachable = reachable;
      for (const socket of sockets) setSilent(socket, !reachable);
      if (!reachable) return;
      for (const socket of held) protocol.injectSocket(socket);
      held.clear();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

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

function serveConnection(plan: SshServerPlan, host: LoginHost, connection: Connection): void {
  let user = '';
  let peer = '';
  connection.on('error', () => undefined);
  connection.on('authentication', (context) => {
    if (context.method !== 'publickey') return context.reject(['publickey']);
    if (!isAuthorized(plan.authorizedKeys, context)) return context.reject(['publickey']);
    user = context.username;
    peer = `127.0.0.1 0 ${plan.address} ${plan.port}`;
    return context.accept();
  });
  connection.on('session', (accept) => serveSession(host, user, peer, accept()));
  // keepalive@openssh.com and its kind: any answer will do, silence would look like a dead host.
  connection.on('request', (_accept, reject) => reject?.());
}

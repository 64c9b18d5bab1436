import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { Connection, ServerChannel, TcpipRequestInfo } from 'ssh2';

export interface ForwardingHost {
  /** Address of the VM. */
  readonly address: string;
  /** All hosts of the slice; their names are known. */
  readonly hosts: readonly { readonly hostname: string; readonly address: string }[];
}

/**
 * Serves `ssh -L`. VMs share this computer's loopback network: `localhost` is the VM's own address if a program listens there,
 * else 127.0.0.1, which programs of all VMs share when they listen on localhost.
 */
export function serveForwarding(host: ForwardingHost, connection: Connection): void {
  connection.on('tcpip', (accept, reject, info) => {
    const tryNext = ([address, ...others]: readonly string[]): void => {
      if (address === undefined) return reject();
      const socket = connect(info.destPort, address);
      socket.once('error', () => tryNext(others));
      socket.once('connect', () => {
        socket.removeAllListeners('error');
        join(socket, accept());
      });
    };
    tryNext(addressesOf(host, info));
  });
}

function addressesOf({ address, hosts }: ForwardingHost, { destIP }: TcpipRequestInfo): readonly string[] {
  if (/^(localhost|127\.0\.0\.1|::1)$/.test(destIP)) return [address, '127.0.0.1'];
  return [hosts.find((host) => host.hostname === destIP)?.address ?? destIP];
}

function join(socket: Socket, channel: ServerChannel): void {
  for (const stream of [socket, channel]) stream.on('error', () => undefined);
  socket.pipe(channel).pipe(socket);
  channel.once('close', () => socket.destroy());
}

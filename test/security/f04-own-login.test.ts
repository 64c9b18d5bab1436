import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { isOwnLogin } from '../../rehearsal/access/own-login.js';
import { AS_OTHER, needsOtherLogin } from './other-login.js';

/** Connects, says that it did, and stays until it is killed. */
const PROGRAM =
  "const s = require('net').connect(process.argv[1], process.argv[2]); s.on('connect', () => s.write('x')); s.resume()";

describe('F4: whose a loopback connection is, by the kernel', function () {
  this.timeout(30_000);
  let server: Server;
  let port: number;
  const open: { destroy(): void }[] = [];
  before(async () => {
    server = createServer({ allowHalfOpen: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });

  /** The server's end of the next connection, once its first byte is there. */
  async function accepted(): Promise<Socket> {
    const [socket] = (await once(server, 'connection')) as [Socket];
    open.push(socket.on('error', () => undefined));
    await once(socket, 'readable');
    return socket;
  }

  async function fromProcess(
    before: readonly string[],
  ): Promise<{ readonly socket: Socket; readonly child: ChildProcess }> {
    const command = [...before, process.execPath, '-e', PROGRAM, String(port), '127.0.0.1'];
    const child = spawn(command[0] ?? '', command.slice(1), { stdio: 'ignore', cwd: '/' });
    return { socket: await accepted(), child };
  }

  it('is ours from a process of ours, over IPv4 and as IPv4 in IPv6', async () => {
    for (const host of ['127.0.0.1', '::ffff:127.0.0.1']) {
      const client = connect(port, host, () => client.write('x'));
      open.push(client);
      assert.equal(isOwnLogin(await accepted()), true, host);
    }
  });

  it('is nobody’s once its process is gone, which the kernel shows as root’s', async () => {
    const { socket, child } = await fromProcess([]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(isOwnLogin(socket), false);
  });

  it('is not ours from a process of another login, while it runs and afterwards', async function () {
    needsOtherLogin(this);
    const { socket, child } = await fromProcess(AS_OTHER);
    assert.equal(isOwnLogin(socket), false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(isOwnLogin(socket), false);
  });

  it('is nobody’s where the kernel knows no such connection', () => {
    const far = { remoteAddress: '127.0.0.1', localAddress: '127.0.0.1', localPort: port };
    for (const remotePort of [1, undefined]) assert.equal(isOwnLogin({ ...far, remotePort }), false);
    assert.equal(isOwnLogin({ ...far, remoteAddress: '::1', remotePort: 1 }), false);
  });
});

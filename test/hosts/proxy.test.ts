import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SshTarget } from '../../cloud/hosts/port.js';
import { HostUnreachable } from '../../cloud/hosts/port.js';
import { checkProxyCommand, proxyCommandLine } from '../../cloud/hosts/ssh-proxy.js';
import { until } from '../until.js';
import { isAlive, withHost } from './session.js';
import { shellWords } from '../../domain/shell-quote.js';

/** What `ssh -W` and an IAP tunnel are: a process that copies between its stdio and a connection. */
const RELAY = `
const [host, port, user, name] = process.argv.slice(1);
require('node:fs').writeFileSync(process.env.RELAY_NOTE ?? '/dev/null', JSON.stringify([process.pid, host, port, user, name, process.env.JOBCTL_ZONE]));
const socket = require('node:net').connect(Number(port), host);
process.stdin.pipe(socket).pipe(process.stdout);
socket.on('error', (error) => { console.error('relay: ' + error.code); process.exit(3); });
`;
const relay = (tokens: string, environment = ''): string =>
  `env ${environment} ${shellWords([process.execPath, '-e', RELAY])} ${tokens}`;

describe('a proxy command', () => {
  const target: SshTarget = { reach: 'ssh', uid: '1', slice: 0, index: 0, address: '10.0.0.5', user: "o'hara $USER" };

  it('gets each of its tokens as one word', () => {
    const line = proxyCommandLine('tunnel %n %p --at=%h -l %r 100%%', { target, port: 22, hostname: 't1v-n-1-w-0' });
    assert.equal(line, String.raw`tunnel t1v-n-1-w-0 22 --at=10.0.0.5 -l 'o'\''hara $USER' 100%`);
  });

  it('with an unknown token is refused before it is ever run', () => {
    assert.throws(
      () => checkProxyCommand('x %h %z'),
      /^RangeError: ProxyCommand 'x %h %z': '%z' is unknown; there are %h, %p, %r, %n and %%$/,
    );
    assert.throws(() => checkProxyCommand('x %'), /'%' is unknown/);
    checkProxyCommand('ssh -W %h:%p jump');
  });

  it('is the connection: commands, files and their ends go through it; it ends with the connection', () =>
    withHost(async ({ host, another }) => {
      const note = join(host.home, 'relay.json');
      const connection = await another({
        proxyCommand: relay('127.0.0.1 %p %r %n', `RELAY_NOTE=${note}`),
        hostnameOf: async () => 'vm name',
      });
      assert.deepEqual(await connection.runStatus('train-a1'), { kind: 'absent' });
      await connection.putFile(Buffer.alloc(300_000, 7), 'big', { mode: 0o600, signal: new AbortController().signal });
      const [pid, address, port, user, name] = JSON.parse(readFileSync(note, 'utf8')) as [number, ...string[]];
      assert.deepEqual([address, port, user, name], ['127.0.0.1', String(host.port), 'bob', 'vm name']);
      assert.ok(isAlive(pid));
      // Cut at the host's end: the next command goes through a new one.
      host.cut();
      await until('the relay is gone', () => !isAlive(pid));
      assert.deepEqual(await connection.runStatus('train-a1'), { kind: 'absent' });
      const [next] = JSON.parse(readFileSync(note, 'utf8')) as [number];
      assert.notEqual(next, pid);
    }));

  it('is ended when the connection is released, also one that ignores SIGTERM', async () => {
    let pid = 0;
    await withHost(async ({ host, another }) => {
      const pidFile = join(host.home, 'pid');
      const script = `trap "" TERM; echo $$ > ${pidFile}; ${relay('"$1" "$2"')}; while :; do sleep 0.1; done`;
      const stubborn = shellWords(['bash', '-c', script.replaceAll('%', '%%'), 'bash']);
      const connection = await another({ proxyCommand: `${stubborn} 127.0.0.1 %p` });
      await connection.runStatus('train-a1');
      pid = Number(readFileSync(pidFile, 'utf8'));
      assert.ok(isAlive(pid));
    });
    await until('the proxy command is gone', () => !isAlive(pid), 10_000);
  });

  it('that fails says so in its own words, with its command line and exit code', () =>
    withHost(async ({ another }) => {
      const failing = another({
        proxyCommand: 'sh -c \'echo "ERROR: no permission for iap.tunnelInstances" >&2; exit 4\' - %h',
      });
      await assert.rejects(failing, (error: Error) => {
        assert.ok(error instanceof HostUnreachable);
        assert.match(
          error.message,
          /cannot be reached: .*; ProxyCommand 'sh -c .* 127\.0\.0\.1' ended with code 4: ERROR: no permission for iap\.tunnelInstances$/,
        );
        return true;
      });
    }));

  it('that closes the connection and stays is no connection', () =>
    withHost(async ({ another }) => {
      // Behind the first line of a handshake ssh2 would wait for ever.
      const proxyCommand = "sh -c 'echo SSH-2.0-x; exec >&-; exec sleep 60'";
      await assert.rejects(another({ proxyCommand }), HostUnreachable);
    }));

  it('that is not there, and one that says nothing, are named', () =>
    withHost(async ({ another }) => {
      await assert.rejects(
        another({ proxyCommand: 'no-such-tunnel %h' }),
        /ProxyCommand 'no-such-tunnel 127\.0\.0\.1' ended with code 127: .*not found/,
      );
      const silent = another({ proxyCommand: 'sleep 60', connectTimeoutMs: 300 });
      await assert.rejects(silent, /no SSH answer within 300 ms; ProxyCommand 'sleep 60' gave no connection$/);
    }));
});

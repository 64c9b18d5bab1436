import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { partName } from '../../cloud/hosts/file-copy.js';
import { copiedPath } from '../../cloud/hosts/module-program.js';
import type { HostConnection } from '../../cloud/hosts/port.js';
import { HostFileError } from '../../cloud/hosts/port.js';
import { until } from '../until.js';
import { applyModule } from './apply-modules.js';
import { startNamespace } from './namespace.js';
import type { HostSession } from './session.js';
import { never, withHost } from './session.js';
import { asWorker, MAY_READ, partOf, StoreWithRights } from './store-with-rights.js';
import type { TcpCutter } from './tcp-cutter.js';
import { startTcpCutter } from './tcp-cutter.js';

const PAGE = '<html>please log in at the proxy</html>';

async function onHost(connection: HostConnection, command: string): Promise<void> {
  const nothing = (): void => undefined;
  await connection.exec(command, { onStdout: nothing, onStderr: nothing, signal: never });
}

/** Command lines of the processes with this HOME, which no other host has. */
function commandsAt(home: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const isOurs = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`HOME=${home}`);
        return isOurs ? [readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')[0] ?? ''] : [];
      } catch {
        return [];
      }
    });
}

describe('a large file of a module that its host cannot read from the store', () => {
  const store = new StoreWithRights();
  before(() => store.start());
  beforeEach(() => store.vmsMay(MAY_READ));
  after(() => store.cloud.stop());

  const storePort = (): number => Number(new URL(store.cloud.endpoints.store).port);

  function onVm(work: (session: HostSession) => Promise<void>, env: Record<string, string> = {}): Promise<void> {
    const inside = async (session: HostSession): Promise<void> => {
      store.trustOn(session.host);
      await work(session);
    };
    return withHost(inside, { env: { ...store.hostEnvironment, ...env } });
  }

  async function behindCutter(
    work: (cutter: TcpCutter, endpoint: string) => Promise<void>,
    port = storePort(),
  ): Promise<void> {
    const cutter = await startTcpCutter(port);
    try {
      await work(cutter, `https://127.0.0.1:${cutter.port}`);
    } finally {
      await cutter.close();
    }
  }

  /** Whoever asks for whichever object gets this answer. */
  async function behindAnswer(
    answer: (response: ServerResponse) => void,
    work: (endpoint: string, asked: () => number) => Promise<void>,
  ): Promise<void> {
    let asked = 0;
    const proxy = createServer((_request, response) => {
      asked += 1;
      answer(response);
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    try {
      await work(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, () => asked);
    } finally {
      proxy.close();
    }
  }

  /** It arrives over SSH, and its log has one line that says why. */
  async function comesOverSsh(connection: HostConnection, name: string, why: RegExp, options = {}): Promise<void> {
    const file = await store.file(name, options);
    const { kind, output } = await applyModule(connection, file.module);
    assert.equal(kind, 'done', output);
    assert.match(output, /^jobctl: \S+: over SSH \(.*\)\njobctl: \S+, .* s, over SSH\n$/);
    assert.match(output, why);
    assert.equal(file.sent, file.size);
  }

  it('for other content under its name: it comes over SSH, and is right', () =>
    onVm(({ connection }) =>
      comesOverSsh(connection, 'other.bin', /sha256 of what arrived is [0-9a-f]{64}, not/, { other: true }),
    ));

  for (const [what, status, why] of [
    ['a page', 200, /gs:\/\/jobs\/page\.bin: only 39 of 400000 bytes arrived\)/],
    ['a redirection', 302, /gs:\/\/jobs\/page\.bin: HTTP 302 where bytes 0-399999 were asked for\)/],
  ] as const)
    it(`for ${what} of a proxy's, which is no part of the file: the store is not asked for the next one`, () =>
      onVm(({ connection }) =>
        behindAnswer(
          (response) => void response.writeHead(status, status === 302 ? { location: '/login' } : {}).end(PAGE),
          async (endpoint, asked) => {
            await comesOverSsh(connection, 'page.bin', why, { endpoint });
            const next = await store.file('after.bin', { endpoint });
            assert.match((await applyModule(connection, next.module)).output, /^jobctl: after\.bin, .* over SSH\n$/);
            assert.equal(asked(), 1);
          },
        ),
      ));

  it('for the whole of it, cut, where the rest is asked for: it is not put behind what is there', () =>
    onVm(({ connection }) =>
      behindAnswer(
        (response) => void response.writeHead(200, { 'content-length': 400_000 }).write(PAGE, () => response.destroy()),
        async (endpoint, asked) => {
          const file = await store.file('rest.bin', { endpoint });
          const there = `~/${dirname(copiedPath(file))}/${partName(copiedPath(file), file.sha256)}`;
          await onHost(
            connection,
            `mkdir -p ~/${dirname(copiedPath(file))} && printf ${file.text.slice(0, 500)} > ${there}`,
          );
          const { kind, output } = await applyModule(connection, file.module);
          assert.equal(kind, 'done', output);
          assert.match(output, /HTTP 200 where bytes 500-399999 were asked for\)\n/);
          assert.deepEqual([asked(), file.sent], [1, file.size]);
        },
      ),
    ));

  it('for an object that is not there', () =>
    onVm(async ({ connection }) => {
      const file = await store.file('gone.bin');
      await store.remove('gone.bin');
      const { kind, output } = await applyModule(connection, file.module);
      assert.equal(kind, 'done', output);
      assert.match(output, /could not read gs:\/\/jobs\/gone\.bin \(HTTP 404\)\)\n/);
    }));

  it('for a certificate that the host does not trust: the store is not asked for the next file', () =>
    withHost(
      ({ connection }) =>
        behindCutter(async (cutter, endpoint) => {
          const why = /this host does not reach the store: curl: \(60\) SSL certificate problem/;
          await comesOverSsh(connection, 'tls.bin', why, { endpoint });
          const next = await store.file('next.bin', { endpoint });
          assert.match((await applyModule(connection, next.module)).output, /^jobctl: next\.bin, .* over SSH\n$/);
          assert.equal(cutter.connections(), 1);
        }),
      { env: store.hostEnvironment },
    ));

  it('for a store that answers nobody', () =>
    onVm(({ connection }) =>
      comesOverSsh(connection, 'silent.bin', /does not reach the store: curl: \(7\)/, {
        endpoint: 'https://127.0.0.1:1',
      }),
    ));

  it('for want of curl', () =>
    onVm(async ({ host, connection }) => {
      const tools = join(host.home, 'tools');
      await onHost(connection, `mkdir ${tools} && cp -s /usr/bin/* ${tools} 2> /dev/null; rm ${tools}/curl`);
      writeFileSync(join(host.home, '.bashrc'), `PATH=${tools}\n`);
      await comesOverSsh(connection, 'no-curl.bin', /\(this host has no curl\)/);
    }));

  it('for want of a metadata server, which is asked once: a URL that the worker signs will do', () =>
    asWorker(store.keyFile, () =>
      // A port that takes a connection, and resets it.
      behindCutter(
        (cutter) =>
          onVm(
            async ({ connection }) => {
              const [first, second] = [await store.file('first.bin'), await store.file('second.bin')];
              const { output } = await applyModule(connection, first.module);
              assert.match(output, /by a signed URL \(no metadata server answers this host\)\n$/);
              assert.match((await applyModule(connection, second.module)).output, /by a signed URL\n$/);
              assert.deepEqual([first.sent, second.sent, cutter.connections()], [0, 0, 1]);
            },
            { GCE_METADATA_HOST: `127.0.0.1:${cutter.port}` },
          ),
        1,
      ),
    ));

  it('for want of a service account', () =>
    asWorker(store.cloud.endpoints.credentialsFile ?? '', () =>
      onVm(async ({ connection }) => {
        await store.vmsMay(undefined);
        await comesOverSsh(connection, 'nobody.bin', /\(this VM has no service account; /);
      }),
    ));

  it('for a signature that is refused: its log has the refusal in one line', () =>
    onVm(async ({ connection }) => {
      await store.vmsMay({ roles: [], scopes: ['logging.write'] });
      const file = await store.file('unsigned.bin');
      file.stored.signedUrl = () => Promise.reject(new Error('no permission\nto sign'));
      const { output } = await applyModule(connection, file.module);
      assert.match(output, /\(HTTP 403\); the worker could not sign a URL: no permission to sign\)\n/);
      assert.equal(file.sent, file.size);
    }));

  it('for a full disk: that is the host’s failure, and no reason to send it over SSH', async () => {
    const home = await mkdtemp(join(tmpdir(), 'hosts-test-'));
    const small = await startNamespace(`mount -t tmpfs -o size=1m tmpfs ${home}`);
    try {
      await withHost(
        async ({ connection }) => {
          await onHost(connection, `echo '${store.cloud.ca}' > ~/ca.pem; echo cacert = ~/ca.pem > ~/.curlrc`);
          const file = await store.file('big.bin', { bytes: 2_000_000 });
          let output = '';
          const applied = applyModule(connection, file.module, (chunk) => (output += chunk.toString()));
          await assert.rejects(applied, (error: Error) => {
            assert.ok(error instanceof HostFileError);
            assert.match(error.message, /No space left on device/);
            return true;
          });
          assert.equal(output, '');
          assert.equal(file.sent, 0);
        },
        { home, enter: small.enter, env: store.hostEnvironment },
      );
    } finally {
      small.kill();
      await rm(home, { recursive: true });
    }
  });

  it('for an abort: it ends at once, and nothing of it goes on there', () =>
    onVm(({ host, connection }) =>
      behindCutter(async (cutter, endpoint) => {
        const file = await store.file('aborted.bin', { bytes: 4_000_000, endpoint });
        cutter.holdAnswerAfter(1_000_000);
        const abort = new AbortController();
        const applied = applyModule(connection, file.module, undefined, abort.signal);
        await until('half of it to be there', () => cutter.bytesFromHost() > 1_000_000);
        abort.abort(new Error('not wanted any more'));
        await assert.rejects(applied, /not wanted any more/);
        await until('curl to be gone', () => !commandsAt(host.home).some((command) => command.endsWith('curl')));
        assert.equal(file.sent, 0);
      }),
    ));

  it('for a cut of the SSH connection: the fetch goes on, from what is there', () =>
    onVm(({ host, another }) =>
      behindCutter(
        (ssh) =>
          behindCutter(async (cutter, endpoint) => {
            const file = await store.file('lost.bin', { bytes: 4_000_000, endpoint });
            cutter.holdAnswerAfter(2_000_000);
            const applied = applyModule(await another({ port: ssh.port }), file.module);
            await until('the answer to be held', cutter.holds);
            await partOf(host, 1_000_000);
            ssh.cut();
            const { kind, output } = await applied;
            assert.equal(kind, 'done', output);
            assert.match(output, /by the VM's service account\n$/);
            assert.equal(file.sent, 0);
            assert.ok(cutter.bytesFromHost() < 5_500_000, `${cutter.bytesFromHost()} bytes came`);
          }),
        host.port,
      ),
    ));
});

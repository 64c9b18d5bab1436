import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { applyModule } from './apply-modules.js';
import type { HostSession } from './session.js';
import { never, withHost } from './session.js';
import { asWorker, MAY_NOT, MAY_READ, partOf, StoreWithRights } from './store-with-rights.js';
import { startTcpCutter } from './tcp-cutter.js';
import { until } from '../until.js';

const NOT_ALLOWED = /the VM's service account may not read gs:\/\/jobs\/\S+ \(HTTP 403\)/;

describe('a large file of a module', () => {
  const store = new StoreWithRights();
  before(() => store.start());
  after(() => store.cloud.stop());

  /** A host that reaches the store and trusts it. */
  function onHost(work: (session: HostSession) => Promise<void>, env: Record<string, string> = {}): Promise<void> {
    const inside = async (session: HostSession): Promise<void> => {
      store.trustOn(session.host);
      await work(session);
    };
    return withHost(inside, { env: { ...store.hostEnvironment, ...env } });
  }

  it("is read by the host itself, as the VM's service account; nothing of it goes through the worker", () =>
    onHost(async ({ connection }) => {
      await store.vmsMay(MAY_READ);
      const file = await store.file('data.bin');
      const { kind, output } = await applyModule(connection, file.module);
      assert.equal(kind, 'done', output);
      assert.match(output, /^jobctl: data\.bin, 0\.4 MB in \d+\.\d s, from the store, by the VM's service account\n$/);
      assert.equal(file.sent, 0);
    }));

  it('is read by a URL that the worker signs where the service account has no right', () =>
    asWorker(store.keyFile, () =>
      onHost(async ({ connection }) => {
        await store.vmsMay(MAY_NOT);
        const file = await store.file('signed.bin');
        const { kind, output } = await applyModule(connection, file.module);
        assert.equal(kind, 'done', output);
        assert.match(output, /^jobctl: signed\.bin, .* from the store, by a signed URL \(the VM's .*\)\n$/);
        assert.match(output, NOT_ALLOWED);
        assert.equal(file.sent, 0);
      }),
    ));

  it('is sent over SSH where nobody may read and nobody can sign; its log says why, once', () =>
    asWorker(store.cloud.endpoints.credentialsFile ?? '', () =>
      onHost(async ({ connection }) => {
        await store.vmsMay(MAY_NOT);
        const file = await store.file('secret.bin');
        const { kind, output } = await applyModule(connection, file.module);
        assert.equal(kind, 'done', output);
        const [why, how, ...more] = output.split('\n');
        assert.match(
          why ?? '',
          /^jobctl: secret\.bin: over SSH \(the VM's .*; the worker's credentials cannot sign a URL\)$/,
        );
        assert.match(why ?? '', NOT_ALLOWED);
        assert.match(how ?? '', /^jobctl: secret\.bin, 0\.4 MB in \d+\.\d s, over SSH$/);
        assert.deepEqual(more, ['']);
        assert.equal(file.sent, file.size);
        const next = await store.file('next.bin');
        assert.match((await applyModule(connection, next.module)).output, /^jobctl: next\.bin, .*, over SSH\n$/);
      }),
    ));

  it('is not read again where the host has it', () =>
    onHost(async ({ connection }) => {
      await store.vmsMay(MAY_READ);
      const file = await store.file('kept.bin');
      await applyModule(connection, file.module);
      await connection.forgetModules(['demo']);
      const reads = (await store.cloud.journal('store-call')).length;
      await applyModule(connection, file.module);
      assert.equal((await store.cloud.journal('store-call')).length, reads);
    }));

  it('comes with no token and no signature in any command line', () =>
    asWorker(store.keyFile, async () => {
      for (const rights of [MAY_READ, MAY_NOT]) {
        await store.vmsMay(rights);
        await withHost(
          async ({ host, connection, read }) => {
            store.trustOn(host);
            mkdirSync(join(host.home, 'bin'));
            const curl = `#!/bin/sh\nprintf '%s\\n' "$@" >> ${host.home}/words\ntr '\\0' ' ' < /proc/$PPID/cmdline >> ${host.home}/words\nexec /usr/bin/curl "$@"\n`;
            writeFileSync(join(host.home, 'bin/curl'), curl, { mode: 0o755 });
            writeFileSync(join(host.home, '.bashrc'), `PATH=$HOME/bin:$PATH\n`);
            const { output } = await applyModule(connection, (await store.file('quiet.bin')).module);
            assert.match(output, /from the store, by/);
            const words = `${read('words')}${output}`;
            assert.match(words, /--connect-timeout/);
            // The script's own text has the words, and a variable behind them.
            for (const secret of [/bearer [^$]/i, /x-goog-sign/i]) assert.doesNotMatch(words, secret);
          },
          { env: store.hostEnvironment },
        );
      }
    }));

  it('goes on where the store broke off, and does not read twice what is there', () =>
    onHost(async ({ host, connection }) => {
      await store.vmsMay(MAY_READ);
      const cutter = await startTcpCutter(Number(new URL(store.cloud.endpoints.store).port));
      try {
        const endpoint = `https://127.0.0.1:${cutter.port}`;
        const file = await store.file('cut.bin', { bytes: 4_000_000, endpoint });
        cutter.holdAnswerAfter(2_000_000);
        const applied = applyModule(connection, file.module);
        await until('the answer to be held', cutter.holds);
        await partOf(host, 1_000_000);
        cutter.cut();
        const { kind, output } = await applied;
        assert.equal(kind, 'done', output);
        assert.match(output, /by the VM's service account\n$/);
        assert.equal(cutter.connections(), 2);
        // A second whole reading would be 6 MB.
        assert.ok(cutter.bytesFromHost() < 5_500_000, `${cutter.bytesFromHost()} bytes came`);
      } finally {
        await cutter.close();
      }
    }));

  it('is tried again where the store says 503 twice', () =>
    onHost(async ({ connection }) => {
      await store.vmsMay(MAY_READ);
      const file = await store.file('busy.bin');
      await store.cloud.admin('fail', { method: 'objects.get', code: 'UNAVAILABLE', times: 2 });
      const { output } = await applyModule(connection, file.module);
      assert.match(output, /^jobctl: busy\.bin, .* by the VM's service account\n$/);
      assert.equal(file.sent, 0);
    }));

  it('comes so to a TPU VM', async () => {
    await store.vmsMay(MAY_READ);
    const node = await store.createVm('reader');
    const fleet = createSshHosts({ port: node.port, hostKeys: memoryHostKeyPins() });
    try {
      const connection = await fleet.connect(node.target, { privateKey: node.privateKey }, never);
      await connection.putFile(Buffer.from(store.cloud.ca), 'ca.pem', { mode: 0o644, signal: never });
      await connection.putFile(Buffer.from('cacert = ca.pem\n'), '.curlrc', { mode: 0o644, signal: never });
      const { output } = await applyModule(connection, (await store.file('vm.bin')).module);
      assert.match(output, /^jobctl: vm\.bin, .* by the VM's service account\n$/);
    } finally {
      fleet.release();
    }
  });
});

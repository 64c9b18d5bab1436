import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { ensureStore, openStore } from '../../cloud/store/open-store.js';
import { S3Store } from '../../cloud/store/s3.js';
import { type S3Proxy, startS3Proxy } from './s3-proxy.js';
import { type S3Server, s3Programs, startS3Server, useEnvironment } from './s3-server.js';

const QUICK = { requestMs: 500, totalMs: 3_000, pauseMs: 10 };

for (const program of s3Programs())
  describe(`a store of S3 in trouble: ${program}`, function () {
    this.timeout(120_000);
    let server: S3Server;
    let proxy: S3Proxy;
    let restore: () => void;
    before(async () => {
      server = await startS3Server(program);
      proxy = await startS3Proxy(server.endpoint);
      restore = useEnvironment({ ...server.environment, AWS_ENDPOINT_URL_S3: proxy.endpoint });
      await ensureStore({ bucket: 's3://faults' });
    });
    beforeEach(() => {
      Object.assign(proxy, { dropped: [], cutAfter: () => undefined, isSilent: false });
      proxy.seen.length = 0;
    });
    after(async () => {
      restore();
      await proxy.stop();
      await server.stop();
    });

    it('sends a part that was cut again, and no other', async () => {
      const content = randomBytes(20_000_000);
      const sha256 = createHash('sha256').update(content).digest('hex');
      const source = {
        ...{ size: content.length, sha256 },
        async *read() {
          yield content;
        },
      };
      const cut = new Set<string>();
      proxy.cutAfter = ({ url = '' }) => {
        const [, part] = /partNumber=(\d+)/.exec(url) ?? [];
        if (part === undefined || part === '1' || cut.has(part)) return undefined;
        cut.add(part);
        return 1_000_000;
      };
      const store = openStore({ bucket: 's3://faults' });
      assert.equal(await store.upload('large', source), 'uploaded');
      assert.equal(
        createHash('sha256')
          .update((await store.read('large')) ?? '')
          .digest('hex'),
        sha256,
      );
      const parts = proxy.seen.flatMap((line) => /partNumber=(\d+)/.exec(line)?.[1] ?? []);
      assert.deepEqual(parts, ['1', '2', '2', '3', '3']);
    });

    it('a server that does not answer is unavailable, in time', async () => {
      proxy.isSilent = true;
      const store = new S3Store({ bucket: 'faults', prefix: '', timing: QUICK });
      const unavailable = { name: 'StoreUnavailable', message: /s3:\/\/faults\/a: http:\/\/127\S+ does not answer/ };
      await assert.rejects(store.write('a', 'x', 'absent'), unavailable);
      await assert.rejects(store.read('a'), unavailable);
      await assert.rejects(store.stat('a'), unavailable);
      assert.equal(proxy.seen.length, 9, 'each is tried three times');
    });

    // Only moto believes a request whose signed header is gone.
    if (program === 'moto_server')
      for (const [header, named] of [
        ['if-none-match', 'If-None-Match: \\*'],
        ['if-match', 'If-Match'],
      ] as const)
        it(`a server that passes over ${header} is refused, and nothing is left there`, async () => {
          proxy.dropped = [header];
          const store = openStore({ bucket: 's3://faults' });
          await assert.rejects(store.probe(), {
            name: 'StoreRefused',
            message: new RegExp(`this server passes over ${named}, so that of two workers both`),
          });
          assert.deepEqual(await store.list('system/'), []);
          proxy.dropped = [];
          await store.probe();
        });

    if (program === 'versitygw')
      it('a wrong key is refused, with what to do', async () => {
        const undo = useEnvironment({ AWS_SECRET_ACCESS_KEY: 'another' });
        try {
          await assert.rejects(openStore({ bucket: 's3://faults' }).read('a'), {
            name: 'StoreRefused',
            message: /SignatureDoesNotMatch\): check AWS_ACCESS_KEY_ID/,
          });
        } finally {
          undo();
        }
      });
  });

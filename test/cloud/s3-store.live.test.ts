import assert from 'node:assert/strict';
import { ensureStore, openStore } from '../../cloud/store/open-store.js';
import { type S3Server, s3Programs, startS3Server, useEnvironment } from './s3-server.js';
import { exerciseStore } from './store-conformance.js';

describe('stores that speak S3', function () {
  this.timeout(120_000);
  it('there is a server to try them with', () =>
    assert.ok(
      s3Programs().length > 0,
      "install one: pip install 'moto[server]', or go install github.com/versity/versitygw/cmd/versitygw@latest",
    ));

  for (const program of s3Programs())
    describe(program, () => {
      let server: S3Server;
      let restore: () => void;
      before(async () => {
        server = await startS3Server(program);
        restore = useEnvironment(server.environment);
      });
      after(async () => {
        restore();
        await server.stop();
      });

      for (const bucket of ['s3://conformance', 's3://conformance/of/a-prefix'])
        exerciseStore(`${program}, ${bucket}`, async () => {
          await ensureStore({ bucket });
          const store = openStore({ bucket });
          // moto 5.2 passes over If-None-Match as an upload of parts is completed.
          const mayUploadTwice = program === 'moto_server';
          // Its threads compare and replace in two steps: two writers at once both succeed, now and then.
          const writersAtOnce = program === 'moto_server' ? 1 : 6;
          return { store, reader: store, prefix: 'run/', mayUploadTwice, writersAtOnce, close: async () => undefined };
        });

      it('makes its bucket once', async () => {
        assert.equal(await ensureStore({ bucket: 's3://made-here' }), 'created');
        assert.equal(await ensureStore({ bucket: 's3://made-here' }), 'exists');
      });

      it('a bucket that is not there is refused, and never read as an empty one', async () => {
        const store = openStore({ bucket: 's3://not-there' });
        const refused = { name: 'StoreRefused', message: /s3:\/\/not-there.*HTTP 404.*NoSuchBucket/ };
        await assert.rejects(store.write('a', 'x', 'absent'), refused);
        await assert.rejects(store.read('a'), refused);
        await assert.rejects(store.stat('a'), refused);
        await assert.rejects(store.list('a'), refused);
      });

      it('signs a URL that reads one object without a login', async () => {
        const bucket = 's3://signed/p';
        await ensureStore({ bucket });
        const store = openStore({ bucket });
        await store.write('odd name/%2F+?#&ü.bin', 'content', 'absent');
        const url = await store.signedUrl('odd name/%2F+?#&ü.bin', 120_000);
        assert.match(url ?? '', /X-Amz-Expires=120/);
        assert.equal(await (await fetch(url ?? '')).text(), 'content');
      });
    });
});

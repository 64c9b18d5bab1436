import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readLocalFile } from '../../cli/job/local-files.js';
import { TransferLine } from '../../cli/terminal/render/transfer-line.js';
import { uploadFiles } from '../../client/uploads.js';
import { until } from '../until.js';
import { SourceChanged, type StorePort } from '../../cloud/store/port.js';

describe('local files of a job', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'local-files-test-'));
    mkdirSync(join(folder, 'with a pipe'));
    execFileSync('/usr/bin/mkfifo', [join(folder, 'pipe'), join(folder, 'with a pipe/p')]);
    writeFileSync(join(folder, 'large'), '');
    truncateSync(join(folder, 'large'), 50 * 1024 ** 3 + 1);
    mkdirSync(join(folder, 'with large'));
    for (const name of ['a', 'b']) {
      writeFileSync(join(folder, 'with large', name), '');
      truncateSync(join(folder, 'with large', name), 26 * 1024 ** 3);
    }
    writeFileSync(join(folder, 'text'), 'x'.repeat(500_001));
  });
  after(() => rmSync(folder, { recursive: true }));

  const cases: Record<string, RegExp> = {
    missing: /^does not exist$/,
    pipe: /^is neither a file nor a folder$/,
    'with a pipe': /^has p, which is neither file, folder nor link/,
    large: /^has 53687091201 bytes; 53687091200 are the most$/,
    'with large': /^has more than 53687091200 bytes/,
  };
  for (const [name, message] of Object.entries(cases)) {
    it(`that cannot be copied are refused with the reason, also when only looked at: ${name}`, async () => {
      for (const isDry of [true, false]) {
        const read = await readLocalFile({ path: name, at: [], kind: 'copy' }, join(folder, name), { isDry });
        assert.match(String(read), message);
      }
    });
  }

  it('that are texts are small, and what is copied is larger', async () => {
    const path = join(folder, 'text');
    assert.match(
      String(await readLocalFile({ path, at: [], kind: 'text' }, path)),
      /^has more than 500000 bytes, and that is the most$/,
    );
    const read = await readLocalFile({ path, at: [], kind: 'copy' }, path);
    assert.ok(Array.isArray(read) && !(read[1] instanceof Uint8Array));
    assert.equal(read[1].size, 500_001);
    assert.equal(await readLocalFile({ path, at: [], kind: 'copy' }, path, { isDry: true }), undefined);
  });
});

describe('uploads of a submission', () => {
  const files = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`f${i}`, Buffer.from(`content ${i}`)]));
  const storeOf = (upload: StorePort['upload']): Pick<StorePort, 'upload'> => ({ upload });

  it('go four at once, by content, and tell of each piece', async () => {
    const [names, told]: [string[], string[]] = [[], []];
    let [running, most] = [0, 0];
    const store = storeOf(async (name, source) => {
      most = Math.max(most, ++running);
      names.push(name);
      for await (const piece of source.read(0)) assert.equal(piece.length, source.size);
      running -= 1;
      return 'uploaded';
    });
    const onProgress = ({ path, sent, size }: { path: string; sent: number; size: number }): void =>
      void told.push(`${path} ${sent}/${size}`);
    const uploaded = await uploadFiles(files, { store, onProgress });
    assert.equal(most, 4);
    assert.deepEqual(
      names.toSorted(),
      Object.values(uploaded)
        .map((sha256) => `files/${sha256}`)
        .toSorted(),
    );
    assert.equal(uploaded['f3'], 'b910ce7ef3d90e013867bae074fcccaed29ee9262a006ef5af04c06d9b6bc1eb');
    assert.deepEqual(
      told.toSorted(),
      Object.keys(files).map((path) => `${path} 9/9`),
    );
  });

  it('end with the first that fails, and a file that changed is named', async () => {
    let [begun, ended] = [0, 0];
    const store = storeOf(async () => {
      begun += 1;
      if (begun === 1) throw new SourceChanged('its bytes are others now');
      await new Promise((resolve) => setImmediate(resolve));
      ended += 1;
      return 'uploaded';
    });
    await assert.rejects(uploadFiles(files, { store }), {
      name: 'JobInvalid',
      message: 'f0: changed while it was uploaded: its bytes are others now; nothing was submitted',
    });
    await until('the three others are through', () => ended === 3);
    assert.equal(begun, 4);
    await assert.rejects(uploadFiles(files, { store: undefined }), { name: 'JobInvalid', message: /no store/ });
  });
});

describe('the line of an upload', () => {
  const shown = (isTTY: boolean): string => {
    let [text, now] = ['', 0];
    const line = new TransferLine('uploading', { isTTY, write: (more) => void (text += more) }, () => now);
    for (const [at, path, sent] of [
      [0, 'a', 1e6],
      [1_900, 'a', 5e8],
      [2_000, 'b', 5e8],
      [2_100, 'a', 6e8],
      [2_200, 'a', 6e8],
      [32_000, 'a', 1e9],
      [33_000, 'b', 1e9],
    ] as const) {
      now = at;
      line.show({ path, sent, size: 1e9 });
    }
    line.end();
    return text;
  };

  it('on a terminal is drawn again after two seconds, and taken away in the end', () => {
    const erase = '\r\u001b[2K';
    assert.equal(
      shown(true),
      [
        'uploading b and 1 more: 1.0 GB of 2.0 GB, 500.0 MB/s',
        'uploading a and 1 more: 1.1 GB of 2.0 GB, 500.0 MB/s',
        'uploading a and 1 more: 1.5 GB of 2.0 GB, 46.9 MB/s',
        '',
      ]
        .map((text) => `${erase}${text}`)
        .join(''),
    );
  });

  it('in a pipe comes twice a minute', () => {
    assert.deepEqual(shown(false).split('\n'), [
      'uploading b and 1 more: 1.0 GB of 2.0 GB, 500.0 MB/s',
      'uploading a and 1 more: 1.5 GB of 2.0 GB, 46.9 MB/s',
      '',
    ]);
  });
});

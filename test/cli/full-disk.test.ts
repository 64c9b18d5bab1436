import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toFile } from '../../cli/commands/verbs/export.js';
import { importJobmanFile } from '../../cli/commands/verbs/import.js';
import { init } from '../../cli/commands/verbs/init.js';
import { quotaFmt } from '../../cli/commands/verbs/quota-files.js';
import { newKey } from '../../cli/commands/verbs/serve.js';
import { fetchFile } from '../../cli/jobs/hosts/remote-files.js';
import { nothingCopied, noteProblem, reportCopied, downloadFile } from '../../cli/jobs/outputs/download-file.js';
import { writeContexts } from '../../cli/place/contexts/contexts-file.js';
import { writeJson } from '../../cli/place/stack/stack-record.js';
import { CliError } from '../../cli/terminal/cli-error.js';
import { writeNewKey } from '../../cli/terminal/file-on-disk.js';
import { SafeFolder } from '../../cli/terminal/safe-folder.js';
import type { HostConnection } from '../../cloud/hosts/port.js';
import type { StoreReader } from '../../cloud/store/port.js';
import { type Namespace, startNamespace } from '../hosts/namespace.js';

const never = new AbortController().signal;
const PAGE = 4096;

describe('a full disk of the user', () => {
  let space: Namespace;
  let disk: string;

  before(async () => {
    space = await startNamespace('mount -t tmpfs -o size=64k none /mnt');
    disk = `/proc/${space.enter[space.enter.indexOf('--target') + 1]}/root/mnt`;
  });
  after(() => space.kill());
  afterEach(() => {
    for (const name of readdirSync(disk)) rmSync(join(disk, name), { recursive: true });
    resize('64k');
  });

  const resize = (size: string): void =>
    void execFileSync(space.enter[0] ?? '', [...space.enter.slice(1), 'mount', '-o', `remount,size=${size}`, '/mnt']);
  /** Leaves no room, not even for a page. */
  function fill(): void {
    assert.throws(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(80_000)), { code: 'ENOSPC' });
  }
  const names = (): readonly string[] => readdirSync(disk).filter((name) => name !== 'filler');

  const bytes = Buffer.alloc(100_000, 7);
  const file = {
    ...{ kind: 'file' as const, path: 'a.bin', size: bytes.length, mode: 0o644, modifiedAt: 1 },
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
  const store = {
    read: async (_: string, { start, end }: { start: number; end: number }) => bytes.subarray(start, end),
  } as unknown as StoreReader;
  const load = (): Promise<string> =>
    downloadFile(store, { object: 'o', file, folder: new SafeFolder(disk) }, () => undefined, never);

  /** Runs a verb here, and keeps what it prints. */
  async function printed(run: () => unknown): Promise<{ readonly told: string; readonly error?: unknown }> {
    const streams = [process.stdout, process.stderr] as const;
    const own = streams.map(({ write }) => write);
    let told = '';
    for (const stream of streams) stream.write = (chunk: string | Uint8Array) => Boolean((told += String(chunk)));
    try {
      await run();
      return { told };
    } catch (error) {
      return { told, error };
    } finally {
      streams.forEach((stream, at) => (stream.write = own[at] as typeof stream.write));
    }
  }

  it('ends a download in its last piece, of which the system writes a part without an error; it goes on later', async () => {
    await assert.rejects(load(), { code: 'ENOSPC' });
    assert.match(names().join(), /^\.jobctl-\w+\.part$/);
    resize('1m');
    assert.equal(await load(), 'done');
    assert.ok(readFileSync(join(disk, 'a.bin')).equals(bytes));
    assert.deepEqual(names(), ['a.bin']);
  });

  it('is told of a download by its first file, its room, and all that found none', async () => {
    const done = nothingCopied();
    for (const path of ['x/a.bin', 'b.bin', 'c.bin'])
      await load().catch((error: unknown) => noteProblem(done, error, join(disk, path), file.size));
    noteProblem(done, new Error('d.bin: gone'), 'd.bin', 1);
    const report = { facts: {}, noun: 'file', what: 'of host 0', root: disk, notes: [], done, isCut: false };
    const { told } = await printed(() => assert.equal(reportCopied(report, { output: 'text' }), 1));
    const [, other = '', line = ''] = told.split('\n');
    assert.equal(other, 'd.bin: gone');
    assert.match(
      line,
      /x\/a\.bin: the disk is full \((?:0|[\d.]+ k?)B are free\): this file and 2 more \(300\.0 kB\) are not/,
    );
    const { told: json } = await printed(() => reportCopied(report, { output: 'json' }));
    assert.deepEqual((JSON.parse(json) as { errors: string[] }).errors, [other, line]);
  });

  it('ends a log that grows, and leaves the earlier one', async () => {
    const folder = new SafeFolder(disk);
    await folder.grow('command/host-0.log', pieces(PAGE));
    await assert.rejects(folder.grow('command/host-0.log', pieces(100_000)), { code: 'ENOSPC' });
    assert.deepEqual(readdirSync(join(disk, 'command')), ['host-0.log']);
    assert.equal(readFileSync(join(disk, 'command/host-0.log')).length, PAGE);
  });
  async function* pieces(size: number): AsyncGenerator<Buffer> {
    for (let at = 0; at < size; at += PAGE) yield Buffer.alloc(Math.min(PAGE, size - at), 7);
  }

  it('ends a cp from a host, which names the file and its size, and leaves nothing', async () => {
    const connection = {
      getFile: async (_: string, take: (chunk: Buffer) => Promise<void>) => {
        await take(bytes);
        return { size: bytes.length };
      },
    } as unknown as HostConnection;
    const place = { folder: new SafeFolder(disk), name: 'a.bin' };
    const remote = { path: '/x/a.bin', below: '', size: bytes.length, mode: 0o644 };
    const words = /a\.bin on this computer: the disk is full: 100\.0 kB are needed, and [\d.]+ k?B are free$/;
    await assert.rejects(fetchFile(connection, remote, place, never), words);
    assert.deepEqual(names(), []);
  });

  it('ends an export, which leaves nothing', async () => {
    const exported = { attempts: 1, histories: 1, missing: [] };
    for (const name of ['job.json', 'job.json.gz']) {
      fill();
      const end = toFile(join(disk, name), async (write) => {
        for (let at = 0; at < 50; at++) await write(createHash('sha512').update(`${at}`).digest('hex').repeat(40));
        return exported;
      });
      await assert.rejects(end, (error) => {
        assert.ok(error instanceof CliError && error.exitCode === 1, String(error));
        assert.match(error.message, new RegExp(`^export: \\S+/${name} cannot be written: the disk is full`));
        return true;
      });
      assert.deepEqual(names(), []);
      rmSync(join(disk, 'filler'));
    }
  });

  /** Files of one text that a verb replaces or makes, and what it is called with. */
  const written: Readonly<Record<string, readonly [file: string, earlier: string | undefined, write: () => unknown]>> =
    {
      init: ['job.yaml', undefined, () => init(disk, { yes: true })],
      'init --force': ['job.yaml', 'name: mine\n', () => init(disk, { yes: true, force: true })],
      import: [
        'new.yaml',
        undefined,
        () => importJobmanFile(join(disk, 'old.yaml'), { output: join(disk, 'new.yaml') }),
      ],
      'quota fmt': ['quota.toml', 'a  =  1\n', () => quotaFmt(join(disk, 'quota.toml'), { write: true })],
      'codec new-key': ['key', undefined, () => writeNewKey('k:x', join(disk, 'key'))],
      'serve new-key': ['signing', undefined, () => newKey({ file: join(disk, 'signing') })],
      'context set': ['contexts.toml', '', () => writeContexts(join(disk, 'contexts.toml'), '[contexts.a]\n')],
      'dev up': ['stack.json', '{}', () => writeJson(join(disk, 'stack.json'), { a: 1 })],
    };
  for (const [verb, [name, earlier, write]] of Object.entries(written))
    it(`ends ${verb} with exit code 1, names ${name} and the room, and leaves what was there`, async () => {
      writeFileSync(join(disk, 'train.py'), 'print(1)\n');
      writeFileSync(join(disk, 'old.yaml'), 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\n');
      if (earlier !== undefined) writeFileSync(join(disk, name), earlier);
      const before = names();
      fill();
      const { error } = await printed(write);
      assert.ok(error instanceof CliError && error.exitCode === 1, String(error));
      assert.match(error.message, new RegExp(`${name}.*: the disk is full: [\\d.]+ k?B are needed, and 0 B are free`));
      assert.deepEqual(names(), before);
      if (earlier !== undefined) assert.equal(readFileSync(join(disk, name), 'utf8'), earlier);
    });

  it('is met by files that are written whole alone: each other writer of the command line is known', () => {
    const known: Readonly<Record<string, string>> = {
      'cli/terminal/file-on-disk.ts': 'the place itself',
      'cli/terminal/safe-folder.ts': 'files of others, each a draft until it is whole',
      'cli/commands/verbs/export.ts': 'a draft until it is whole',
      'cli/commands/verbs/setup-keys.ts': 'a draft until it is whole, of another owner',
      'cli/place/contexts/contexts-file.ts': 'a draft until it is read back',
      'cli/commands/verbs/ui.ts': 'a link in a temporary folder; it is printed too',
      'cli/job/packing/pack-tree.ts': 'a temporary file; TMPDIR is named',
      'cli/job/building/build-image.ts': 'a draft; the next submit builds again',
      'cli/jobs/hosts/shell.ts': 'a key in a temporary folder',
      'cli/place/packages.ts': 'a temporary folder until it is whole',
      'cli/place/stack/process-identity.ts': 'a draft that is linked',
      'cli/local/dev/temporal-server/executables.ts': 'a temporary folder until its checksum is right',
    };
    const found = execFileSync('grep', ['-rlE', String.raw`\b(writeFileSync|createWriteStream|writeFile)\(`, 'cli'], {
      encoding: 'utf8',
    });
    const writers = found.trim().split('\n').toSorted();
    assert.deepEqual(writers, Object.keys(known).toSorted());
  });
});

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchFile } from '../../cli/jobs/hosts/remote-files.js';
import { SafeFolder } from '../../cli/terminal/safe-folder.js';
import type { HostConnection } from '../../cloud/hosts/port.js';
import type { FileSource } from '../../domain/local-files.js';
import { HostFileError } from '../../cloud/hosts/port.js';
import { startNamespace } from './namespace.js';
import type { HostSession } from './session.js';
import { never, withHost } from './session.js';
import { startTcpCutter, type TcpCutter } from './tcp-cutter.js';

const plan = { mode: 0o640, signal: never };
const whole = { most: 10_000_000, signal: never };
const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/** Counts what was read of it, in pieces of 32 KiB. */
function countedSource(content: Buffer): FileSource & { readonly starts: number[]; sent(): number } {
  const starts: number[] = [];
  let sent = 0;
  return {
    size: content.length,
    sha256: sha256(content),
    starts,
    sent: () => sent,
    read: async function* (start) {
      starts.push(start);
      for (let at = start; at < content.length; at += 32_768) {
        const piece = content.subarray(at, at + 32_768);
        sent += piece.length;
        yield piece;
      }
    },
  };
}

async function throughCutter(
  session: HostSession,
  work: (connection: HostConnection, cutter: TcpCutter) => Promise<void>,
): Promise<void> {
  const cutter = await startTcpCutter(session.host.port);
  try {
    await work(await session.another({ port: cutter.port }), cutter);
  } finally {
    await cutter.close();
  }
}

describe('a copy to a host', () => {
  const paths = [
    'plain',
    'a/b/deep',
    "it's $HOME `x`",
    '-n',
    'line\nbreak',
    'ünïcode ☃',
    '~/.ssh/config',
    'x'.repeat(255),
  ];
  for (const path of paths) {
    it(`arrives whole at ${JSON.stringify(path.slice(0, 20))}, with its mode, and comes back`, () =>
      withHost(async ({ host, connection }) => {
        const content = randomBytes(70_001);
        assert.equal(await connection.putFile(content, path, plan), 'done');
        const placed = join(host.home, path.replace(/^~\//, ''));
        assert.ok(readFileSync(placed).equals(content));
        assert.equal(statSync(placed).mode & 0o777, 0o640);
        assert.equal(await connection.putFile(content, path, { ...plan, mode: 0o600 }), 'unchanged');
        assert.equal(statSync(placed).mode & 0o777, 0o600);
        const parts: Buffer[] = [];
        const got = await connection.getFile(path, (chunk) => void parts.push(chunk), whole);
        assert.deepEqual(got, { size: 70_001, mode: 0o600, sha256: sha256(content) });
        assert.ok(Buffer.concat(parts).equals(content));
      }));
  }

  it('of a file without bytes leaves an empty file', () =>
    withHost(async ({ host, connection }) => {
      await connection.putFile(Buffer.alloc(0), 'empty', plan);
      assert.equal(statSync(join(host.home, 'empty')).size, 0);
      assert.equal((await connection.getFile('empty', () => assert.fail(), whole)).size, 0);
    }));

  it('sends nothing of a big file that is there already', () =>
    withHost(async ({ connection }) => {
      const content = randomBytes(1_000_000);
      await connection.putFile(content, 'big', plan);
      const again = countedSource(content);
      assert.equal(await connection.putFile(again, 'big', plan), 'unchanged');
      assert.equal(again.sent(), 0);
    }));

  it('goes on where it was cut, and leaves no part behind', () =>
    withHost(async (session) =>
      throughCutter(session, async (connection, cutter) => {
        const source = countedSource(randomBytes(7_000_000));
        // Each connection dies after 2 MB of the 7, and what is on its way.
        cutter.cutAfter(2_000_000);
        assert.equal(await connection.putFile(source, 'big', plan), 'done');
        assert.ok(cutter.connections() >= 4, `${cutter.connections()} connections`);
        assert.equal(sha256(readFileSync(join(session.host.home, 'big'))), source.sha256);
        assert.ok(
          source.starts.length >= 3 && source.starts.every((start, at) => start > (source.starts[at - 1] ?? -1)),
        );
        assert.deepEqual(
          readdirSync(session.host.home).filter((name) => name.endsWith('.part')),
          [],
        );
      }),
    )).timeout(30_000);

  it('is refused, and the old file kept, when other bytes arrive than were announced', () =>
    withHost(async ({ host, connection }) => {
      writeFileSync(join(host.home, 'kept'), 'old');
      const wrong: FileSource = { ...countedSource(Buffer.from('right')), sha256: sha256(Buffer.from('other')) };
      await assert.rejects(connection.putFile(wrong, 'kept', plan), (error: Error) => {
        assert.ok(error instanceof HostFileError);
        assert.match(error.message, /'kept': sha256 of what arrived is [0-9a-f]{64}, not [0-9a-f]{64}; copy it again$/);
        return true;
      });
      assert.equal(readFileSync(join(host.home, 'kept'), 'utf8'), 'old');
      assert.deepEqual(
        readdirSync(host.home).filter((name) => name.endsWith('.part')),
        [],
      );
    }));

  it('says what is in the way', () =>
    withHost(async ({ host, connection }) => {
      mkdirSync(join(host.home, 'folder'));
      writeFileSync(join(host.home, 'file'), '');
      await assert.rejects(
        connection.putFile(Buffer.from('x'), 'folder', plan),
        /'folder': there is a folder of this name$/,
      );
      await assert.rejects(
        connection.putFile(Buffer.from('x'), 'file/below', plan),
        /'file\/below': mkdir: .*File exists/,
      );
      await assert.rejects(
        connection.getFile('missing', () => assert.fail(), whole),
        /'missing': there is no such file$/,
      );
    }));
});

describe('a copy from a host', () => {
  it('goes on where it was cut', () =>
    withHost(async (session) =>
      throughCutter(session, async (connection, cutter) => {
        const content = randomBytes(5_000_000);
        writeFileSync(join(session.host.home, 'big'), content);
        const parts: Buffer[] = [];
        let cuts = 0;
        let bytes = 0;
        const got = await connection.getFile(
          'big',
          (chunk) => {
            parts.push(chunk);
            bytes += chunk.length;
            if (bytes > (cuts + 1) * 1_000_000 && cuts < 3) {
              cuts += 1;
              cutter.cut();
            }
          },
          whole,
        );
        assert.equal(cuts, 3);
        assert.equal(got.sha256, sha256(content));
        assert.ok(Buffer.concat(parts).equals(content));
      }),
    )).timeout(30_000);

  it('says that the file changed while it was copied', () =>
    withHost(async (session) =>
      throughCutter(session, async (connection, cutter) => {
        const file = join(session.host.home, 'big');
        writeFileSync(file, randomBytes(3_000_000));
        let isCut = false;
        const copy = connection.getFile(
          'big',
          () => {
            if (isCut) return;
            isCut = true;
            writeFileSync(file, randomBytes(3_000_000));
            cutter.cut();
          },
          whole,
        );
        await assert.rejects(copy, /'big' changed while it was copied; copy it again$/);
      }),
    )).timeout(30_000);
});

describe('a file of a host that is brought here', () => {
  // Less than what a stream holds back before it says no.
  const content = randomBytes(10_000);
  const wanted = { path: 'out', below: '', size: content.length, mode: 0o644 };

  it('leaves nothing behind, and says so, where the disk is full', async () => {
    const full = await startNamespace('mount -t tmpfs -o size=4k none /mnt');
    try {
      const folder = `/proc/${full.enter[full.enter.indexOf('--target') + 1]}/root/mnt`;
      await withHost(async ({ connection, host }) => {
        writeFileSync(join(host.home, 'out'), content);
        // The disk says no while nothing is being written, as between two chunks of a slow host.
        const getFile: HostConnection['getFile'] = (path, onChunk, options) =>
          connection.getFile(
            path,
            async (chunk) => {
              await onChunk(chunk);
              for (let turn = 0; turn < 100; turn += 1) await stat(folder);
            },
            options,
          );
        const place = { folder: new SafeFolder(folder), name: 'out' };
        await assert.rejects(
          fetchFile({ getFile } as HostConnection, wanted, place, never),
          /mnt\/out on this computer: the disk is full: 10\.0 kB are needed, and \S+ kB are free$/,
        );
        assert.deepEqual(readdirSync(folder), []);
      });
    } finally {
      full.kill();
    }
  });
});

describe('a command of the user', () => {
  it('gets its stdin, and gives its output, errors and exit code apart', () =>
    withHost(async ({ connection }) => {
      const out: Buffer[] = [];
      const errors: Buffer[] = [];
      const streams = { onStdout: (c: Buffer) => void out.push(c), onStderr: (c: Buffer) => void errors.push(c) };
      const end = await connection.exec('cat; echo oops >&2; exit 7', {
        stdin: Buffer.from('in'),
        ...streams,
        signal: never,
      });
      assert.deepEqual(
        [end, Buffer.concat(out).toString(), Buffer.concat(errors).toString()],
        [{ code: 7 }, 'in', 'oops\n'],
      );
      const killed = await connection.exec('kill -9 $$', { ...streams, signal: never });
      assert.deepEqual(killed, { signal: 'SIGKILL' });
    }));

  it('may end before it has read its stdin', () =>
    withHost(async ({ connection }) => {
      const streams = { onStdout: () => undefined, onStderr: () => undefined };
      const end = await connection.exec('exit 3', {
        stdin: countedSource(Buffer.alloc(8_000_000)).read(0),
        ...streams,
        signal: never,
      });
      assert.deepEqual(end, { code: 3 });
    }));
});

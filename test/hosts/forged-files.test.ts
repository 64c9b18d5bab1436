import assert from 'node:assert/strict';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchFile, fetchPaths } from '../../cli/jobs/hosts/remote-files.js';
import { SafeFolder, UnsafePath } from '../../cli/terminal/safe-folder.js';
import { HostFileError, HostUnfit } from '../../cloud/hosts/port.js';
import { HOSTILE_HOSTS } from './hostile-host.js';
import { never } from './session.js';

/** As `find` prints them. */
const listed = (...entries: readonly (readonly [name: string, facts?: string])[]): Buffer =>
  Buffer.from(entries.map(([name, facts = '5 644']) => `${name}\0${facts}\0`).join(''));
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

interface Attack {
  /** What answers `find`; text is bash. Absent: the host is honest. */
  readonly find?: Buffer | string;
  /** What answers the reading of a file. */
  readonly get?: string;
  /** Makes something on this side. `outside` is not below `safe`. */
  readonly here?: (safe: string, outside: string) => void;
  readonly target?: string;
  readonly says: RegExp;
}

const OUTSIDE = /would be written outside of the folder/;
const NO_NUMBERS = /has size and mode ".*", which are no numbers/;
const MARK = String.raw`printf '\001jobctl-follow\n'`;
/** Read in one place, from wherever they come. */
const LISTS: Readonly<Record<string, Attack>> = {
  'a name that leads out by its middle': { find: listed(['a/../../x']), says: OUTSIDE },
  'the folder above': { find: listed(['..']), says: OUTSIDE },
  'the folder itself': { find: listed(['.']), says: OUTSIDE },
  'an absolute name': { find: listed(['/tmp/x']), says: OUTSIDE },
  'an empty part': { find: listed(['a//x']), says: OUTSIDE },
  'a name behind good ones': { find: listed(['a'], ['b'], ['../x']), says: OUTSIDE },
  'three words': { find: bytes('a\x005 644\x00b\x00'), says: /it is not whole/ },
  'five words': { find: bytes('p\x00a\x005\x00644\x00x\x00'), says: /it is not whole/ },
  'a list that is cut': { find: bytes('a\x005 644\x00b\x005 64'), says: /it is not whole/ },
  'no list at all': { find: bytes('<html>'), says: /it is not whole/ },
  'a size that is no number': { find: listed(['a', 'NaN 644']), says: NO_NUMBERS },
  'a size below 0': { find: listed(['a', '-5 644']), says: NO_NUMBERS },
  'a size of 1e300': { find: listed(['a', '1e300 644']), says: NO_NUMBERS },
  'a size of 30 digits': { find: listed(['a', `${'9'.repeat(30)} 644`]), says: NO_NUMBERS },
  'a mode that is not octal': { find: listed(['a', '5 rwx']), says: NO_NUMBERS },
  'a mode of six digits': { find: listed(['a', '5 100644']), says: NO_NUMBERS },
  'a file below a file': { find: listed(['a'], ['a/x']), says: /"a\/x" is below "a", which is no folder/ },
  'a file twice': { find: listed(['a'], ['b'], ['a']), says: /it lists "a" twice/ },
  'the path and files below it': { find: listed([''], ['a']), says: /several files of one path/ },
  'a name of 5,000 characters': { find: listed(['x/'.repeat(2500) + 'x']), says: /is longer than 4096 bytes/ },
  'a part of 300 characters': { find: listed(['é'.repeat(150)]), says: /a part that is longer than 255 bytes/ },
  'a name that is not UTF-8': { find: bytes('a\xff\x005 644\x00'), says: /"a\ufffd" is not UTF-8/ },
  'more files than any list has': {
    find: `awk 'BEGIN { for (i = 0; i <= 200000; i++) printf "%d%c5 644%c", i, 0, 0 }'`,
    says: /more than 200000 files/,
  },
  'a folder for a file that is here': {
    here: (safe) => writeFileSync(join(safe, 'a.txt'), 'mine'),
    target: 'a.txt',
    says: /a\.txt is there and is no folder/,
  },
  'a link in the way': {
    here: (safe, outside) => symlinkSync(outside, join(safe, 'out')),
    says: /out is a symbolic link: nothing is written through it/,
  },
  'a dangling link in the way': {
    here: (safe, outside) => symlinkSync(join(outside, 'new'), join(safe, 'out')),
    says: /out is a symbolic link/,
  },
  'a folder in the way': {
    here: (safe) => mkdirSync(join(safe, 'out/a.txt'), { recursive: true }),
    says: /a\.txt is a folder, and a file is to be written there/,
  },
};
/** Each costs a second of a processor. */
const ENDLESS: Readonly<Record<string, Attack>> = {
  'a list without end': { find: 'yes', says: /is longer than 32 MiB/ },
  'a trouble without end': { find: 'yes >&2', says: /is longer than 32 MiB/ },
};
const ATTACKS: Readonly<Record<string, Attack>> = {
  'a name that leads out': { find: listed(['../../.bashrc']), says: OUTSIDE },
  'a file of more bytes than it listed': {
    get: `${MARK}; head -c 100000 /dev/zero; printf 'jobctl-runner: 5 644 %064d\\n' 0 >&2`,
    says: /'out\/a.txt' sends more than 5 bytes, which is its size/,
  },
  'a file without end': { get: `${MARK}; cat /dev/zero`, says: /sends more than 5 bytes/ },
  'a file that never begins': { get: 'yes', says: /login files of a host print more than 64 KiB/ },
  'a file of no size': {
    get: `${MARK}; printf 'jobctl-runner: NaN 99999 x\\n' >&2`,
    says: /has no size, mode and sha256: the host says "NaN 99999 x"/,
  },
};

/** An own machine is read by the connection of a VM, a pod by one of its own. */
const TRIED: Readonly<Record<string, Readonly<Record<string, Attack>>>> = {
  'a VM': { ...LISTS, ...ENDLESS, ...ATTACKS },
  'an own machine': ATTACKS,
  'a pod': { ...ENDLESS, ...ATTACKS },
};

describe('a copy from a host that lies', () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'forged-'));
    for (const folder of ['home/out', 'here/safe', 'here/outside']) mkdirSync(join(base, folder), { recursive: true });
    writeFileSync(join(base, 'home/out/a.txt'), 'hello');
    writeFileSync(join(base, 'here/outside/secret'), 'mine');
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));
  const tree = (): readonly string[] =>
    readdirSync(join(base, 'here'), { recursive: true, encoding: 'utf8' }).toSorted();

  const answersOf = ({ find, get }: Attack): string => {
    if (Buffer.isBuffer(find)) writeFileSync(join(base, 'listing'), find);
    const said = Buffer.isBuffer(find) ? `cat ${join(base, 'listing')}` : find;
    return [
      said === undefined ? '' : `case $line in *'find -L'*) ${said}; exit 0 ;; esac`,
      get === undefined ? '' : `case $line in *jobctl-follow*) ${get}; exit 0 ;; esac`,
    ].join('\n');
  };
  const from = async (kind: string, attack: Attack): Promise<void> => {
    const host = await HOSTILE_HOSTS[kind]?.(join(base, 'home'), answersOf(attack));
    assert.ok(host);
    const place = join(base, 'here/safe', attack.target ?? '');
    const target = { target: place, isNamed: attack.target !== undefined, below: '' };
    try {
      const done = { copied: 0, unchanged: 0, bytes: 0 };
      await fetchPaths(host.connection, ['out'], { ...target, done }, never);
    } finally {
      await host.stop();
    }
  };

  for (const kind of Object.keys(HOSTILE_HOSTS))
    describe(`${kind}, with`, function () {
      this.timeout(60_000);
      for (const [name, attack] of Object.entries(TRIED[kind] ?? assert.fail(`no attack is tried on ${kind}`)))
        it(`${name} is refused, and nothing is written`, async () => {
          attack.here?.(join(base, 'here/safe'), join(base, 'here/outside'));
          const before = tree();
          await assert.rejects(from(kind, attack), (error: Error) => {
            assert.ok(
              [HostFileError, HostUnfit, UnsafePath].some((known) => error instanceof known),
              error.stack,
            );
            assert.match(error.message, attack.says);
            return true;
          });
          const made = tree().filter((path) => !before.includes(path));
          assert.deepEqual(
            made.filter((path) => path !== 'safe/out'),
            [],
          );
          assert.equal(readFileSync(join(base, 'here/outside/secret'), 'utf8'), 'mine');
        });

      it('functions and programs of the login answers nothing', async () => {
        const lie = `find() { printf '../../x\\0005 644\\0'; }; sha256sum() { echo x; }`;
        mkdirSync(join(base, 'home/bin'));
        writeFileSync(join(base, 'home/bin/find'), `#!/bin/sh\nprintf '../../x\\0005 644\\0'\n`, { mode: 0o755 });
        writeFileSync(join(base, 'home/.bashrc'), `${lie}\nPATH=$HOME/bin:$PATH\n`);
        await from(kind, { says: /./ });
        assert.equal(readFileSync(join(base, 'here/safe/out/a.txt'), 'utf8'), 'hello');
      });

      it('bits of setuid are dropped, and names that differ in case alone are both laid down', async () => {
        writeFileSync(join(base, 'home/out/A.txt'), 'HELLO');
        await from(kind, { find: listed(['a.txt', '5 6755'], ['A.txt', '5 4711']), says: /./ });
        const modes = ['a.txt', 'A.txt'].map((name) => statSync(join(base, 'here/safe/out', name)).mode & 0o7777);
        assert.deepEqual(modes, [0o755, 0o711]);
      });

      it('a link of the name of a file is replaced, and what it leads to stays', async () => {
        mkdirSync(join(base, 'here/safe/out'));
        symlinkSync(join(base, 'here/outside/secret'), join(base, 'here/safe/out/a.txt'));
        await from(kind, { says: /./ });
        assert.ok(lstatSync(join(base, 'here/safe/out/a.txt')).isFile());
        assert.equal(readFileSync(join(base, 'here/outside/secret'), 'utf8'), 'mine');
      });
    });

  it('a folder that becomes a link while a file arrives is not written through', async () => {
    const folder = new SafeFolder(join(base, 'here/safe'));
    const getFile = async (_path: string, onChunk: (chunk: Buffer) => void): Promise<{ size: number }> => {
      onChunk(Buffer.from('hello'));
      renameSync(join(base, 'here/safe/out'), join(base, 'here/moved'));
      symlinkSync(join(base, 'here/outside'), join(base, 'here/safe/out'));
      return { size: 5 };
    };
    const file = { path: 'a', below: '', size: 5, mode: 0o644 };
    const place = { folder, name: 'out/secret' };
    await assert.rejects(fetchFile({ getFile } as never, file, place, never), /out is a symbolic link/);
    assert.equal(readFileSync(join(base, 'here/outside/secret'), 'utf8'), 'mine');
    assert.deepEqual(readdirSync(join(base, 'here/outside')), ['secret']);
  });
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type HostConnection, HostFileError } from '../../cloud/hosts/port.js';
import type { JobHost } from '../../cli/jobs/hosts/job-hosts.js';
import type { onEachHost } from '../../cli/jobs/hosts/reach.js';
import { Bringer, type Reached, type State } from '../../cli/jobs/sync/bring.js';
import { type Change, makeChanges, sumsOnHost } from '../../cli/jobs/sync/host-folder.js';
import { SyncedFolder } from '../../cli/jobs/sync/synced-folder.js';
import { until } from '../until.js';
import { HOSTILE_HOSTS } from './hostile-host.js';
import { type HostSession, never, withHost } from './session.js';

const REPLACED = '.jobctl/replaced/now';

describe('a folder of a host that is kept in step', () => {
  let here: string;
  let folder: SyncedFolder;
  beforeEach(async () => {
    here = mkdtempSync(join(tmpdir(), 'synced-'));
    folder = await SyncedFolder.open(here);
  });
  afterEach(() => rmSync(here, { recursive: true, force: true }));

  function write(path: string, text: string | Buffer, mode = 0o644): void {
    mkdirSync(dirname(join(here, path)), { recursive: true });
    writeFileSync(join(here, path), text, { mode });
    chmodSync(join(here, path), mode);
  }

  /** All files of the folder, as changes of a host that has those of `from`. */
  async function puts(from: Readonly<Record<string, string>> = {}): Promise<readonly Change[]> {
    const { files } = await folder.look();
    return [...files].map(([path, to]) => ({ path, to, ...(from[path] !== undefined && { from: from[path] }) }));
  }

  const make = ({ connection }: HostSession, changes: readonly Change[], path = 'work') =>
    makeChanges(connection, path, { changes, replaced: REPLACED }, never);

  const sumOf = async (path: string): Promise<string> =>
    (await folder.look()).files.get(path)?.source.sha256 ?? assert.fail(`${path} is not there`);

  const NAMES = [
    ...['train.py', 'src/model/net.py', 'two words.txt', ' leading and trailing ', '-rf', '--', 'a\\b', "it's"],
    ...['"quoted"', '$HOME', '`id`', '*', 'déjà.py', '%s', '.env', 'tab\there', 'a/b/c/d/e/f', '~', 'x;reboot'],
  ];

  it('gets every name as it is, with content and mode; what it has is known by its content', () =>
    withHost(async (session) => {
      for (const name of NAMES) write(name, `of ${name}`, name === 'train.py' ? 0o755 : 0o640);
      const changes = await puts();
      assert.deepEqual(
        (await make(session, changes)).filter((answer) => answer !== 'done'),
        [],
      );
      for (const name of NAMES) {
        assert.equal(session.read(`work/${name}`), `of ${name}`);
        assert.equal(statSync(join(session.host.home, 'work', name)).mode & 0o777, name === 'train.py' ? 0o755 : 0o640);
      }
      const names = changes.map(({ path }) => path);
      assert.equal(names.length, NAMES.length);
      const sums = await sumsOnHost(session.connection, 'work', [...names, 'absent'], never);
      assert.deepEqual(sums, new Map(changes.map(({ path, to }) => [path, to?.source.sha256 ?? ''])));
      assert.deepEqual(new Set(await make(session, changes)), new Set(['same']));
      assert.deepEqual(
        readdirSync(join(session.host.home, 'work')).filter((name) => name.startsWith('sync-')),
        [],
      );
    }));

  it('gets 260 small files, equal ones, an empty one and one of 3 MB', () =>
    withHost(async (session) => {
      for (let at = 0; at < 260; at += 1) write(`many/${at % 7}/${at}`, `${at % 50}`);
      write('empty', '');
      write('large', Buffer.alloc(3_000_000, 'abc'));
      const made = await make(session, await puts(), '~/deep/work');
      assert.equal(made.filter((answer) => answer === 'done').length, 262);
      assert.equal(session.read('deep/work/many/0/259'), '9');
      assert.equal(session.read('deep/work/large').length, 3_000_000);
      // Not one file under two names: whoever writes into one there would write into all.
      assert.equal(statSync(join(session.host.home, 'deep/work/many/0/0')).nlink, 1);
    }));

  it('keeps what was changed there when a change from here takes its place', () =>
    withHost(async (session) => {
      write('a.py', 'first');
      await make(session, await puts());
      const first = await sumOf('a.py');
      write('a.py', 'second');
      assert.deepEqual(await make(session, await puts({ 'a.py': first })), ['done']);
      assert.equal(existsSync(join(session.host.home, REPLACED)), false);
      const second = await sumOf('a.py');
      writeFileSync(join(session.host.home, 'work/a.py'), 'edited there');
      write('a.py', 'third');
      assert.deepEqual(await make(session, await puts({ 'a.py': second })), ['kept']);
      assert.equal(session.read('work/a.py'), 'third');
      assert.equal(session.read(`${REPLACED}/a.py`), 'edited there');
      assert.equal(folder.name, here.split('/').at(-1));
    }));

  it('removes a file that went here, and its empty folders; not one that was changed there', () =>
    withHost(async (session) => {
      write('deep/er/old.py', 'old');
      write('edited.py', 'mine');
      await make(session, await puts());
      const removals = await Promise.all(
        ['deep/er/old.py', 'edited.py'].map(async (path) => ({ path, from: await sumOf(path) })),
      );
      writeFileSync(join(session.host.home, 'work/edited.py'), 'edited there');
      assert.deepEqual(await make(session, [...removals, { path: 'never/there', from: 'f'.repeat(64) }]), [
        'done',
        'changed',
        'same',
      ]);
      assert.deepEqual(readdirSync(join(session.host.home, 'work')), ['edited.py']);
    }));

  it('says which file it cannot have, and takes the others', () =>
    withHost(async (session) => {
      for (const name of ['in-the-way', 'file/below', 'fine']) write(name, name);
      mkdirSync(join(session.host.home, 'work/in-the-way'), { recursive: true });
      writeFileSync(join(session.host.home, 'work/file'), 'a file where a folder is to be');
      const changes = await puts();
      const made = new Map((await make(session, changes)).map((answer, at) => [changes[at]?.path, answer]));
      assert.deepEqual(
        made,
        new Map([
          ['file/below', 'cannot be written'],
          ['fine', 'done'],
          ['in-the-way', 'a folder of this name is there'],
        ]),
      );
      assert.equal(session.read('work/file'), 'a file where a folder is to be');
    }));

  it('gets a file that only grows as it was when it was looked at', () =>
    withHost(async (session) => {
      write('log', 'one\n');
      write('empty', '');
      const changes = await puts();
      for (const name of ['log', 'empty']) writeFileSync(join(here, name), 'two\n', { flag: 'a' });
      assert.deepEqual(await make(session, changes), ['done', 'done']);
      assert.deepEqual([session.read('work/log'), session.read('work/empty')], ['one\n', '']);
    }));

  it('never takes bytes of a file for names of others, and gets the others', () =>
    withHost(async (session) => {
      write('log', 'before');
      write('other', 'other');
      const [log, other] = (await puts()) as [Change, Change];
      const planted = `${'0'.repeat(64)} 6\nbefore../../PWNED 4\nABC\n`;
      const longer = async function* (): AsyncIterable<Buffer> {
        yield Buffer.from(planted);
      };
      const to = log.to ?? assert.fail();
      const swollen = { ...log, to: { ...to, source: { ...to.source, read: longer } } };
      assert.deepEqual(await make(session, [swollen, other]), ['is being written here', 'done']);
      rmSync(join(here, 'other'));
      write('third', 'third');
      const [, third] = (await puts()) as [Change, Change];
      const gone = { ...other, path: 'gone' };
      assert.deepEqual(await make(session, [gone, third]), ['is being written here', 'done']);
      assert.deepEqual(readdirSync(join(session.host.home, 'work')).toSorted(), ['other', 'third']);
      assert.equal(existsSync(join(session.host.home, 'PWNED')), false);
    }));

  it('is told by the host what an earlier sync brought, and keeps that for nobody', () =>
    withHost(async (session) => {
      write('a', 'one');
      await make(session, await puts());
      write('a', 'two');
      assert.deepEqual(await make(session, await puts()), ['done']);
      assert.equal(existsSync(join(session.host.home, REPLACED)), false);
    }));

  it('keeps links that lead nowhere and pipes of the host too', () =>
    withHost(async (session) => {
      mkdirSync(join(session.host.home, 'work'));
      symlinkSync('/nowhere', join(session.host.home, 'work/a'));
      execFileSync('bash', ['-c', 'mkfifo "$1"', 'bash', join(session.host.home, 'work/b')]);
      write('a', 'a');
      write('b', 'b');
      assert.deepEqual(await make(session, await puts()), ['kept', 'kept']);
      assert.equal(readlinkSync(join(session.host.home, REPLACED, 'a')), '/nowhere');
      assert.ok(statSync(join(session.host.home, REPLACED, 'b')).isFIFO());
    }));

  it('may belong to a login whose files print', () =>
    withHost(async (session) => {
      for (const name of ['.bashrc', '.bash_profile'])
        writeFileSync(join(session.host.home, name), "printf '\\033]0;x\\007HELLO\\ndone\\n'\n");
      write('a', 'a');
      assert.deepEqual([...(await sumsOnHost(session.connection, 'work', ['a'], never))], []);
      assert.deepEqual(await make(session, await puts()), ['done']);
      assert.equal((await sumsOnHost(session.connection, 'work', ['a'], never)).size, 1);
    }));

  it('puts a file in the place of a link, and leaves alone what the link leads to', () =>
    withHost(async (session) => {
      writeFileSync(join(session.host.home, 'precious'), 'precious');
      mkdirSync(join(session.host.home, 'work'));
      symlinkSync('../precious', join(session.host.home, 'work/a'));
      write('a', 'mine');
      assert.deepEqual(await make(session, await puts()), ['kept']);
      assert.equal(session.read('precious'), 'precious');
      assert.equal(session.read('work/a'), 'mine');
    }));

  for (const [kind, start] of Object.entries(HOSTILE_HOSTS)) {
    const lies: Readonly<Record<string, string>> = {
      'sums of files that nobody asked for': `printf '%064d  other\\0' 0; exit 0`,
      'an endless answer': 'yes; exit 0',
      'no answer, and success': 'exit 0',
    };
    for (const [lie, answer] of Object.entries(lies))
      it(`${kind} that gives ${lie} is believed in nothing`, async () => {
        const home = mkdtempSync(join(tmpdir(), 'hostile-'));
        const host = await start(home, `case $line in *.jobctl-sync*) ${answer} ;; esac`);
        try {
          write('a', 'mine');
          const sums = await sumsOnHost(host.connection, 'work', ['a'], never).catch((error: Error) => error.name);
          assert.ok(
            sums === 'HostFileError' || sums === 'HostUnfit' || (sums instanceof Map && sums.size === 0),
            String(sums),
          );
          const changes = await puts();
          await assert.rejects(makeChanges(host.connection, 'work', { changes, replaced: REPLACED }, never), {
            name: /^Host(FileError|Unfit)$/,
          });
        } finally {
          await host.stop();
          rmSync(home, { recursive: true, force: true });
        }
      });
  }
});

const textIn = ({ host }: HostSession, path: string): string =>
  existsSync(join(host.home, path)) ? readFileSync(join(host.home, path), 'utf8') : '';

describe('hosts that are brought into step together', () => {
  /** Rounds of two hosts: 0 is the session's, 1 does what `second` does. */
  async function twoHosts(
    { host, connection }: HostSession,
    second: (aborted: Promise<never>) => Promise<never>,
    work: (all: {
      readonly folder: SyncedFolder;
      readonly round: (isPatient?: boolean) => Promise<State>;
      readonly said: readonly string[];
      readonly stop: () => void;
    }) => Promise<void>,
  ): Promise<void> {
    const here = mkdtempSync(join(tmpdir(), 'synced-'));
    const end = new AbortController();
    const aborted = once(end.signal, 'abort').then(() => Promise.reject(new Error('aborted')));
    aborted.catch(() => undefined);
    const said: string[] = [];
    const says = {
      once: (line: string) => void said.push(line),
      answer: () => undefined,
      brought: (changed: ReadonlyMap<string, number>, hosts: number) =>
        void said.push(`${[...changed.keys()].join()} on ${hosts}`),
    };
    const on = (async (
      { hosts: [one] }: Reached,
      _signal: AbortSignal,
      task: (to: HostConnection, on: JobHost) => Promise<void>,
    ) => {
      const at = one as JobHost;
      const value = at.number === 0 ? await task(connection, at) : await second(aborted);
      return [{ kind: 'done', host: at, value }];
    }) as unknown as typeof onEachHost;
    const hosts = [0, 1].map((number) => ({ number, node: 'jc', target: { ...host.target, index: number } }));
    const reached = { hosts } as unknown as Reached;
    const bringer = new Bringer('work', { says, signal: end.signal, on, patienceMs: 300 });
    const folder = await SyncedFolder.open(here);
    const round = async (isPatient = false): Promise<State> => {
      await bringer.round(reached, await folder.look(), isPatient);
      return bringer.state(hosts);
    };
    try {
      await work({ folder, round, said, stop: () => end.abort() });
    } finally {
      end.abort();
      rmSync(here, { recursive: true, force: true });
    }
  }

  it('go on beside one that hangs, which is named once and is not taken for one in step', () =>
    withHost(async (session) => {
      const hangs = (aborted: Promise<never>): Promise<never> => aborted;
      await twoHosts(session, hangs, async ({ folder, round, said, stop }) => {
        for (const text of ['one', 'two']) {
          writeFileSync(join(folder.path, 'a'), text);
          await until(`the other has ${text}`, async () => {
            const { refused, unreached, busy } = await round();
            assert.deepEqual([refused, unreached], [0, 0]);
            return busy === 1 && textIn(session, 'work/a') === text;
          });
        }
        assert.ok(said.includes('host 1: has not ended a change for 0.3 s; the others go on'), said.join('\n'));
        assert.equal(said.filter((line) => line === 'a on 1').length, 2);
        const before = said.length;
        stop();
        writeFileSync(join(folder.path, 'b'), 'b');
        await round();
        assert.equal(said.length, before, 'whoever interrupts is told of no success');
      });
    }));

  it('go on beside one that fails, which is tried again', () =>
    withHost(async (session) => {
      const fails = (): Promise<never> => Promise.reject(new HostFileError('the disk is full'));
      await twoHosts(session, fails, async ({ folder, round, said }) => {
        writeFileSync(join(folder.path, 'a'), 'a');
        assert.deepEqual(await round(true), { refused: 0, unreached: 1, busy: 0 });
        assert.deepEqual(
          said.filter((line) => !line.includes('the others go on')),
          ['host 1: the disk is full; trying again', 'a on 1'],
        );
        assert.deepEqual(await round(true), { refused: 0, unreached: 1, busy: 0 });
      });
    }));
});

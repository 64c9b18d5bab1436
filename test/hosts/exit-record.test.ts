import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ExitRecordUpload } from '../../cloud/hosts/port.js';
import { parseExitRecord } from '../../cloud/hosts/runner-client.js';
import { until } from '../until.js';
import { ended, pids, request } from './run.js';
import { type HostSession, isAlive, never, withHost } from './session.js';

const RUN = 'train-x1-a1';
const PROOF = 'ab'.repeat(32);

/** Takes what hosts put there. */
class Store {
  readonly taken: string[] = [];
  /** How often it has refused a record; it takes none while `isRefusing`. */
  refusals = 0;
  isRefusing = false;
  readonly #server: Server = createServer((incoming, response) => {
    let body = '';
    incoming.on('data', (chunk) => (body += String(chunk)));
    incoming.on('end', () => {
      if (this.isRefusing) {
        this.refusals += 1;
        response.statusCode = 503;
      } else this.taken.push(body);
      response.end('{}');
    });
  });

  async open(): Promise<ExitRecordUpload> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/exit`, as: 'nobody', proof: PROOF };
  }

  close(): void {
    this.#server.close();
  }

  record(): Promise<ReturnType<typeof parseExitRecord>> {
    return until('a record is in the store', () =>
      this.taken.length === 0 ? undefined : parseExitRecord(this.taken[0] ?? '', { runId: RUN, proof: PROOF }),
    );
  }
}

const folderOf = ({ host }: HostSession): string => join(host.home, '.jobctl/runs', RUN);
const UNTIL_GO = 'echo up; while [ ! -f "$HOME/go" ]; do sleep 0.05; done; exit 7';
/** Its shell has read the run's folder: before that, a folder that is removed is a script that cannot be read. */
const hasPrinted = ({ connection }: HostSession): Promise<true> =>
  until('it has printed', async () => {
    const status = await connection.runStatus(RUN);
    return status.kind === 'running' && status.outputBytes > 0 ? true : undefined;
  });
const goOn = ({ host }: HostSession): void => writeFileSync(join(host.home, 'go'), '');

describe('the exit record of a run', () => {
  let store: Store;
  let exitRecord: ExitRecordUpload;
  beforeEach(async () => {
    store = new Store();
    exitRecord = await store.open();
  });
  afterEach(() => store.close());

  it('keeps nobody waiting: the run has ended, and can be followed to its end, while the store refuses it', () =>
    withHost(async (session) => {
      store.isRefusing = true;
      await session.connection.startRun(request(UNTIL_GO, { exitRecord }));
      // The output of a run that has ended is not followed: the command goes on once somebody does.
      await session.connection.followOutput(RUN, 0, () => goOn(session), never);
      assert.equal((await session.connection.runStatus(RUN)).kind, 'exited');
      assert.deepEqual(store.taken, []);
      await until('the store has refused the record', () => store.refusals > 0);
      store.isRefusing = false;
      assert.equal((await store.record())?.code, 7);
    }));

  /** What a disk does to the run's folder while the command runs. The end is in the supervisor's hands in each case. */
  const disks: Readonly<Record<string, (folder: string) => void>> = {
    'its folder was removed': (folder) => rmSync(folder, { recursive: true }),
    'all of ~/.jobctl was removed': (folder) => rmSync(join(folder, '../..'), { recursive: true }),
    'its place cannot be written to': (folder) => {
      rmSync(join(folder, 'exit.new'));
      mkdirSync(join(folder, 'exit.new'));
    },
    'the record of its beginning is gone': (folder) => rmSync(join(folder, 'begun')),
  };
  for (const [what, disk] of Object.entries(disks))
    it(`is whole in the store, though ${what}`, () =>
      withHost(async (session) => {
        await session.connection.startRun(request(UNTIL_GO, { exitRecord }));
        await hasPrinted(session);
        disk(folderOf(session));
        goOn(session);
        const record = await store.record();
        assert.deepEqual([record?.code, record?.isStopped], [7, false]);
        assert.ok((record?.endedAt ?? 0) >= (record?.startedAt ?? Infinity), JSON.stringify(record));
      }));

  it('comes onto the disk when that takes it again', () =>
    withHost(async (session) => {
      await session.connection.startRun(request(UNTIL_GO, { exitRecord }));
      await hasPrinted(session);
      const place = join(folderOf(session), 'exit.new');
      rmSync(place);
      mkdirSync(place);
      goOn(session);
      await store.record();
      // Its end is known and not written: it is neither lost nor started again.
      assert.equal((await session.connection.runStatus(RUN)).kind, 'running');
      rmdirSync(place);
      assert.equal((await ended(session.connection)).code, 7);
    }));

  const torn: Readonly<Record<string, string>> = {
    'is empty': '',
    'has no line end': '0 - 1000 20',
    'has zeros in place of bytes': '\0'.repeat(40),
    'has a code alone': '0\n',
    'has letters for times': '0 - then now up - -\n',
  };
  for (const [what, content] of Object.entries(torn))
    it(`is no end where it ${what}: never code 0, and no restart of the host`, () =>
      withHost(async (session) => {
        const { connection } = session;
        await connection.startRun(request('exit 0'));
        await ended(connection);
        writeFileSync(join(folderOf(session), 'exit'), content);
        assert.deepEqual(await connection.runStatus(RUN), { kind: 'lost', outputBytes: 0 });
      }));

  it('that is missing is a restart of the host where the boot is another one', () =>
    withHost(async (session) => {
      const { connection } = session;
      await connection.startRun(request('exec sleep 300'));
      const [child, supervisor] = pids(session);
      const begun = join(folderOf(session), 'begun');
      for (const pid of [supervisor, child]) process.kill(pid, 'SIGKILL');
      await until('lost', async () => (await connection.runStatus(RUN)).kind === 'lost');
      assert.deepEqual(await connection.runStatus(RUN), { kind: 'lost', outputBytes: 0 });
      writeFileSync(begun, readFileSync(begun, 'utf8').replace(/:\d+ /, ':1 '));
      assert.deepEqual(await connection.runStatus(RUN), { kind: 'lost', outputBytes: 0, isRestarted: true });
    }));
});

describe('a run whose folder was removed while its command runs', () => {
  it('has begun: nobody starts it a second time beside itself', () =>
    withHost(async (session) => {
      const { connection } = session;
      await connection.startRun(request('echo up; exec sleep 300'));
      await hasPrinted(session);
      const [child] = pids(session);
      rmSync(folderOf(session), { recursive: true });
      assert.equal((await connection.runStatus(RUN)).kind, 'orphaned');
      assert.equal((await connection.startRun(request('echo again'))).kind, 'orphaned');
      assert.deepEqual(session.starts(), [RUN]);
      assert.ok(isAlive(child));
      process.kill(child, 'SIGKILL');
    }));
});

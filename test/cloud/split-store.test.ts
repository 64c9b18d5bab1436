import assert from 'node:assert/strict';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import { copySystemObjects, splitReader, splitStore, strayGlobs, strayObjects } from '../../cloud/store/open-store.js';
import { MapStore } from '../cli/map-store.js';
import { startRehearsedCloud } from './rehearsed-cloud.js';

/** One name of each kind that decides, and beside each one that does not. */
const SYSTEM = [
  'system/owner',
  'system/changes.json',
  'system/host-keys/uid-1/0',
  'quota/default/state.json',
  'quota/default/applied/pool',
  'audit/2026-11-24/10-00-00.000-ab-1.jsonl',
  'reports/2026-11-24/job-j-1-r.jsonl',
  'jobs/j-1/run',
  'jobs/j-1/owner.json',
  'jobs/j-1/outcome.json',
  'jobs/j-1/usage.json',
  'jobs/j-1/job-keys/r.json',
  'jobs/j-1/gone/s.json',
];
const JOBS = [
  'jobs/j-1/spec.yaml',
  'jobs/j-1/logs/a1/command/host-0.000000000000000',
  'jobs/j-1/outputs/run',
  'bundles/ab.tar.gz',
  'files/ab',
];

describe('a store over two buckets', function () {
  this.timeout(30_000);
  let jobs: StorePort;
  let system: StorePort;
  let both: StorePort;
  let stop: () => Promise<void>;
  before(async () => {
    const cloud = await startRehearsedCloud();
    stop = () => cloud.stop();
    const open = async (bucket: string): Promise<StorePort> => {
      const options = { endpoint: cloud.storeEndpoint, bucket, projectId: 'p' };
      await ensureBucket(options);
      return createStore(options);
    };
    [jobs, system] = [await open('the-jobs'), await open('the-system')];
    both = splitStore(jobs, system);
    for (const name of [...SYSTEM, ...JOBS]) await both.write(name, `true ${name}`, 'absent');
  });
  after(() => stop());

  const namesOf = async (store: StorePort, prefix = ''): Promise<readonly string[]> =>
    (await store.list(prefix)).map(({ name }) => name);

  it('keeps what decides in the one, and all else in the other', async () => {
    assert.deepEqual(await namesOf(system), SYSTEM.toSorted());
    assert.deepEqual(await namesOf(jobs), JOBS.toSorted());
  });

  it('lists as one store: of everything, of a job, of a folder, so many', async () => {
    assert.deepEqual(await namesOf(both), [...SYSTEM, ...JOBS].toSorted());
    assert.deepEqual(
      await namesOf(both, 'jobs/j-1/'),
      [...SYSTEM, ...JOBS].filter((name) => name.startsWith('jobs/j-1/')).toSorted(),
    );
    assert.deepEqual(await namesOf(both, 'jobs/j-1/logs/'), [JOBS[1]]);
    assert.deepEqual(
      await namesOf(both, 'quota/default/'),
      SYSTEM.filter((name) => name.startsWith('quota/')).toSorted(),
    );
    const two = await both.list('jobs/j-1/', undefined, 2);
    assert.deepEqual(
      two.map(({ name }) => name),
      ['jobs/j-1/gone/s.json', 'jobs/j-1/job-keys/r.json'],
    );
  });

  for (const name of SYSTEM)
    it(`a forged ${name} in the job bucket changes nothing`, async () => {
      await jobs.replace(name, 'forged');
      assert.equal((await both.read(name))?.toString(), `true ${name}`);
      assert.equal((await both.stat(name))?.size, Buffer.byteLength(`true ${name}`));
      assert.equal((await both.list(name)).length, 1);
      assert.deepEqual(
        (await both.list('jobs/j-1/')).filter((object) => object.name === name).map(({ size }) => size),
        name.startsWith('jobs/') ? [`true ${name}`.length] : [],
      );
      await both.replace(name, 'newer');
      assert.equal((await jobs.read(name))?.toString(), 'forged');
      await both.replace(name, `true ${name}`);
    });

  it('is made of one bucket by a copy, which changes nothing that is there', async () => {
    await system.remove('system/owner');
    await system.remove('jobs/j-1/run');
    assert.equal(await copySystemObjects(jobs, system), 2);
    assert.equal((await both.read('system/owner'))?.toString(), 'forged');
    assert.equal((await both.read('quota/default/state.json'))?.toString(), 'true quota/default/state.json');
    assert.equal(await copySystemObjects(jobs, system), 0);
  });

  it('names what does not belong there, of each kind', async () => {
    assert.deepEqual(await strayObjects(jobs), { names: SYSTEM.toSorted(), isWhole: true });
    assert.deepEqual(await strayGlobs(jobs), [
      ...['system/**', 'quota/**', 'audit/**', 'reports/**'],
      ...['jobs/*/run', 'jobs/*/owner.json', 'jobs/*/outcome.json', 'jobs/*/usage.json'],
      ...['jobs/*/job-keys/**', 'jobs/*/gone/**'],
    ]);
  });

  it('names some of each kind, however many there are of one', async () => {
    for (let n = 0; n < 30; n++) await jobs.write(`quota/default/history/${n}`, '', 'absent');
    const { names, isWhole } = await strayObjects(jobs, 4);
    assert.equal(isWhole, false);
    assert.equal(names.filter((name) => name.startsWith('quota/')).length, 4);
    for (const name of ['system/owner', 'jobs/j-1/run', 'jobs/j-1/job-keys/r.json'])
      assert.ok(names.includes(name), name);
  });

  it('names nothing of what belongs there, however like it is', async () => {
    for (const { name } of await jobs.list(''))
      if (SYSTEM.includes(name) || name.startsWith('quota/')) await jobs.remove(name);
    for (const name of ['jobs/j-1/outputs/run', 'jobs/j-1/logs/job-keys/r.json', 'files/system/owner', 'jobs/run'])
      await jobs.replace(name, '');
    assert.deepEqual(await strayObjects(jobs), { names: [], isWhole: true });
    assert.deepEqual(await strayGlobs(jobs), []);
  });

  it('forgets a job in both', async () => {
    for (const { name } of await both.list('jobs/j-1/')) await both.remove(name);
    assert.deepEqual(
      (await namesOf(system)).filter((name) => name.startsWith('jobs/')),
      [],
    );
  });
});

describe('so many names of a job of two buckets', () => {
  const jobs = new MapStore();
  const system = new MapStore();
  const both = splitReader(jobs, system);
  const names = async (from: string | undefined, most: number): Promise<readonly string[]> =>
    (await both.list('jobs/j/', from, most)).map(({ name }) => name);
  before(() => {
    system.put('jobs/j/owner.json', '');
    // Somebody who may write into the job bucket puts these there, where they are nothing.
    for (let stray = 0; stray < 30_000; stray++) jobs.put(`jobs/j/job-keys/${stray}`, '');
    for (let own = 0; own < 20_000; own++) jobs.put(`jobs/j/logs/${`${own}`.padStart(5, '0')}`, '');
    jobs.put('jobs/j/spec.yaml', '');
  });

  it('cost as many pages, however many names lie behind them or are passed', async () => {
    const [found, { requests }] = await jobs.during(() => names(undefined, 2));
    assert.deepEqual(found, ['jobs/j/logs/00000', 'jobs/j/logs/00001']);
    assert.ok(requests <= 2, `${requests} requests`);
  });

  it('page by page they are all of them, and none twice', async () => {
    const all: string[] = [];
    for (let from: string | undefined; ;) {
      const page = await names(from, 777);
      all.push(...page);
      if (page.length < 777) break;
      from = `${page.at(-1)}\u0000`;
    }
    assert.deepEqual([all.length, new Set(all).size], [20_002, 20_002]);
    assert.deepEqual(all.slice(-2), ['jobs/j/owner.json', 'jobs/j/spec.yaml']);
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ownersOf, storageOf } from '../../../client/stored.js';
import type { Owner } from '../../../domain/counted/report.js';
import { STORAGE_GROUPINGS, StorageSums, totalOf } from '../../../domain/counted/storage.js';
import * as layout from '../../../domain/store-layout.js';
import { MapStore } from '../../cli/map-store.js';

const ANN: Owner = { user: 'ann', project: 'vision', pool: 'default' };
const BOB: Owner = { user: 'bob', project: 'speech', pool: 'default' };
const DAY = Date.UTC(2026, 10, 20);

/** What two jobs, submitters and the installation keep, and an object of somebody else's. */
function filled(): MapStore {
  const store = new MapStore();
  for (const [name, size, at = DAY] of [
    ['jobs/a/spec.yaml', 10],
    ['jobs/a/logs/a1/command/host-0.000000000000000', 1000, DAY - 5000],
    ['jobs/a/outputs/contents/ab', 5000],
    ['jobs/a/metrics/host-0/a1.json', 7],
    ['jobs/b/logs/job.1', 300, DAY + 5000],
    ['jobs/c/spec.yaml', 1],
    ['bundles/ab.tar.gz', 40],
    ['files/cd', 2],
    ['system/owner', 3],
    ['datasets/imagenet.tar', 1e6],
  ] as const)
    store.put(name, Buffer.alloc(size), at);
  store.put(layout.jobOwnerObject('a'), JSON.stringify({ ...ANN, more: 1 }), DAY);
  store.put(layout.jobOwnerObject('b'), JSON.stringify(BOB), DAY);
  return store;
}
const ownOf = (value: unknown): number => JSON.stringify(value).length;

describe('what jobs keep in the bucket', () => {
  const told = async (by: (typeof STORAGE_GROUPINGS)[number], filter = {}): Promise<readonly string[]> => {
    const store = filled();
    const sums = await storageOf(store);
    const owners = await ownersOf(store, sums.jobs);
    return sums
      .rows(by, (job) => owners.get(job), filter)
      .map(({ key, jobs, objects, bytes }) => `${key} ${jobs} ${objects} ${bytes}`);
  };
  const [a, b] = [ownOf({ ...ANN, more: 1 }), ownOf(BOB)];

  it('is summed up by project, with what is of no job apart, and without the objects of others', async () =>
    assert.deepEqual(await told('project'), [
      `vision 1 5 ${6017 + a}`,
      `speech 1 2 ${300 + b}`,
      '(uploads) 0 2 42',
      '(installation) 0 1 3',
      '(unknown) 1 1 1',
    ]));
  it('is summed up by job', async () =>
    assert.deepEqual((await told('job')).slice(0, 2), [`a 1 5 ${6017 + a}`, `b 1 2 ${300 + b}`]));
  it('is summed up by part, and a job counts in each of its parts', async () =>
    assert.deepEqual(await told('part'), [
      'outputs 1 1 5000',
      'logs 2 2 1300',
      `records 3 4 ${11 + a + b}`,
      'uploads 0 2 42',
      'metrics 1 1 7',
      'installation 0 1 3',
    ]));
  it('is only of those who are asked for', async () => {
    assert.deepEqual(await told('part', { user: 'bob' }), ['logs 1 1 300', `records 1 1 ${b}`]);
    assert.deepEqual(await told('user', { project: 'none' }), []);
  });

  it('says how old it is', async () => {
    const rows = (await storageOf(filled())).rows('job', () => undefined);
    assert.deepEqual(
      rows.slice(0, 2).map(({ oldest, newest }) => [oldest - DAY, newest - DAY]),
      [
        [-5000, 0],
        [0, 5000],
      ],
    );
  });

  it('is listed by a request for 1,000 objects, and each counts once at the edges of pages', async () => {
    const store = new MapStore();
    for (let n = 0; n < 3000; n++) store.put(`jobs/a/logs/a1/command/host-0.${String(n).padStart(15, '0')}`, 'x');
    let told = 0;
    const [sums, { requests }] = await store.during(() => storageOf(store, (objects) => (told = objects)));
    assert.deepEqual([totalOf(sums.rows('job', () => undefined))?.objects, told], [3000, 3000]);
    // Four pages of jobs/, the last one empty, and one of each other folder.
    assert.equal(requests, 4 + layout.OWN_FOLDERS.length - 1);
  });

  for (const [what, content] of Object.entries({
    'half a record': '{"user":"ann"',
    'a list': '[]',
    nothing: 'null',
    'a number for a name': '{"user":1,"project":"p","pool":"q"}',
  }))
    it(`whose owner is ${what} is of nobody known`, async () => {
      const store = new MapStore();
      store.put(layout.jobOwnerObject('x'), content);
      assert.equal((await ownersOf(store, ['x'])).size, 0);
    });

  it('adds up to what was listed, however it is grouped', () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            name: fc.constantFrom('jobs/a/logs/1', 'jobs/b/x', 'jobs/a/outputs/2', 'bundles/x', 'quota/p', 'jobs/x'),
            size: fc.nat(1e6),
            updatedAt: fc.nat(1e12),
          }),
        ),
        (objects) => {
          const sums = new StorageSums();
          for (const object of objects) sums.add(object);
          for (const by of STORAGE_GROUPINGS) {
            const total = totalOf(sums.rows(by, (job) => (job === 'a' ? ANN : undefined)));
            assert.equal(
              total?.bytes ?? 0,
              objects.reduce((sum, { size }) => sum + size, 0),
            );
            assert.equal(total?.objects ?? 0, objects.length);
          }
        },
      ),
    ));
});

describe('the names of objects', () => {
  it('are all in folders that a listing of the bucket knows', () => {
    const made = Object.entries(layout as Readonly<Record<string, unknown>>).flatMap(([name, value]) => {
      if (!/(Object|Prefix|PREFIX)$/.test(name)) return [];
      const made =
        typeof value === 'function' ? (value as (...words: unknown[]) => unknown)('1', '1', '1', '1') : value;
      return typeof made === 'string' && /^[a-z]+\//.test(made) ? [made] : [];
    });
    assert.ok(made.length > 30, String(made.length));
    for (const name of made)
      assert.ok(
        layout.OWN_FOLDERS.some((folder) => name.startsWith(folder)),
        name,
      );
  });
});

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PoolFileReader, type PoolPlaces } from '../../activities/operator-file.js';
import { poolSource } from '../../activities/pool-source.js';
import { quotaSource, type LoadedQuota, type QuotaSource } from '../../activities/quota-source.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { meteredStore } from '../../cloud/store/open-store.js';
import type { StorePort } from '../../cloud/store/port.js';
import { appliedFileObject, lastGoodFilesObject } from '../../domain/store-layout.js';
import { startRehearsedCloud, type RehearsedCloud } from '../cloud/rehearsed-cloud.js';
import { until } from '../until.js';

const quotaText = (v4: number): string =>
  `[toml-schema]\nversion = "1"\n[total_resources]\nv4 = ${v4}\n[project_membership]\na = [".*"]\n[project_resources.a]\nv4 = 1\n`;
const v4Of = ({ config }: LoadedQuota): unknown =>
  config?.kind === 'limited' ? config.tiers[0]?.['v4'] : config?.kind;
const call = (text: string, by = 'ann') => ({ v: 1, by, quotaFile: { name: 'quota.toml', text } }) as const;

describe('the files of a pool', function () {
  this.timeout(30_000);
  let cloud: RehearsedCloud;
  let folder: string;
  let store: StorePort;
  const calls: string[] = [];

  before(async () => {
    cloud = await startRehearsedCloud();
    folder = await mkdtemp(join(tmpdir(), 'jobctl-files-'));
    for (const bucket of ['jobs', 'quotas'])
      await ensureBucket({ endpoint: cloud.storeEndpoint, bucket, projectId: 'p' });
    store = openBucket('jobs');
  });
  after(async () => {
    await cloud.stop();
    await rm(folder, { recursive: true });
  });

  const openBucket = (bucket: string): StorePort =>
    meteredStore(createStore({ endpoint: cloud.storeEndpoint, bucket }), (method) => calls.push(`${bucket} ${method}`));
  const filesOf = (places: Readonly<Record<string, PoolPlaces>>): PoolFileReader =>
    new PoolFileReader({ places, store, openBucket, lookAgainMs: 100 });
  const sourceOf = (places: Readonly<Record<string, PoolPlaces>> = {}): QuotaSource =>
    quotaSource(filesOf(places), store);

  it('a path is read each time; while it is wrong nothing new is in force, and what was stays so', async () => {
    const path = join(folder, 'quota.toml');
    const source = sourceOf({ default: { quotaFile: path } });
    assert.match((await source.load('default')).problem ?? '', /quota\.toml: the quota file cannot be read: ENOENT/);
    assert.equal((await source.inForce('default')).config, undefined);
    await writeFile(path, quotaText(8));
    assert.deepEqual([v4Of(await source.load('default')), (await source.load('default')).source], [8, path]);
    await writeFile(path, quotaText(-1));
    const wrong = `${path}:4:6: v4: -1 is not a whole number from 0 to 2147483647`;
    assert.deepEqual(await source.load('default'), { source: path, problem: wrong });
    const { problem, ...kept } = await source.inForce('default');
    assert.deepEqual([v4Of(kept), problem], [8, wrong]);
    await rm(path);
    assert.deepEqual(v4Of(await source.inForce('default')), 8);
  });

  it('each pool has its own files; one without any is unlimited', async () => {
    const paths = [8, 16].map((v4) => ({ v4, path: join(folder, `quota-${v4}.toml`) }));
    await Promise.all(paths.map(({ v4, path }) => writeFile(path, quotaText(v4))));
    const [small, large] = paths.map(({ path }) => path);
    const source = sourceOf({ small: { quotaFile: small }, large: { quotaFile: large } });
    const found = await Promise.all(['small', 'large', 'other'].map((pool) => source.load(pool)));
    assert.deepEqual(found.map(v4Of), [8, 16, 'unlimited']);
  });

  it('H1: a pool exists by a configuration, with files or without, or by either file that was applied, and else not', async () => {
    await store.replace(appliedFileObject('by-quota', 'quota'), quotaText(8));
    await store.replace(appliedFileObject('by-pool', 'pool'), '');
    // What a job left of a pool is none of its files.
    for (const name of ['state.json', 'last-good.json', 'applied', 'applied/other'])
      await store.replace(`quota/by-a-job/${name}`, '{}');
    const source = poolSource(filesOf({ default: {}, absent: { quotaFile: '/no/such/file' } }));
    for (const pool of ['default', 'absent', 'by-quota', 'by-pool'])
      assert.equal(await source.unknown(pool), undefined);
    for (const pool of ['by-a-job', 'Default', 'default ', '', '__proto__', '..', 'by-quota/applied/quota'])
      assert.equal((await source.unknown(pool))?.path[0], 'pool', pool);
    assert.deepEqual((await source.names()).toSorted(), ['absent', 'by-pool', 'by-quota', 'default']);
    const { message, hint } = (await source.unknown('by-qouta')) ?? {};
    assert.equal(message, "there is no pool 'by-qouta'; the pools are default, absent, by-pool, by-quota");
    assert.match(hint ?? '', /^did you mean by-quota\?\nname one of them, or ask an operator to name the pool/);
  });

  it('the rules of the pool file are in the configuration, and both files are judged together', async () => {
    const [quotaFile, poolFile] = [join(folder, 'both-quota.toml'), join(folder, 'both-pool.toml')];
    await writeFile(quotaFile, quotaText(8));
    await writeFile(poolFile, 'zones = ["us-east5-a"]\n[quota]\naging = "5m"\n');
    const files = filesOf({ default: { quotaFile, poolFile } });
    const { config } = await quotaSource(files, store).load('default');
    assert.equal(config?.kind === 'limited' ? config.rules?.agingMs : undefined, 300_000);
    await writeFile(poolFile, 'zones = ["us-east5-a"]\n[[tiers]]\n[[tiers]]\n');
    assert.match(
      (await quotaSource(files, store).load('default')).problem ?? '',
      /both-pool\.toml:3:3: tiers\[1\]: the quota file has 1 tier/,
    );
    // Where its jobs run has nothing to do with that.
    assert.deepEqual((await poolSource(files).load('default')).defaults?.zones, ['us-east5-a']);
  });

  it('an object of another bucket is read again when its generation changes, and only then', async () => {
    const url = 'gs://quotas/team/project-quotas.config';
    const other = createStore({ endpoint: cloud.storeEndpoint, bucket: 'quotas' });
    const source = sourceOf({ default: { quotaFile: url } });
    assert.equal(
      (await source.load('default')).problem,
      `${url}: the quota file cannot be read: there is no such object`,
    );
    await other.replace('team/project-quotas.config', quotaText(8));
    await until('the object is seen', async () => v4Of(await source.load('default')) === 8);
    const reads = (): number => calls.filter((name) => name === 'quotas read').length;
    const looks = (): number => calls.filter((name) => name === 'quotas stat').length;
    const [readsBefore, looksBefore] = [reads(), looks()];
    await until('it is looked at again', async () => {
      assert.equal(v4Of(await source.load('default')), 8);
      return looks() > looksBefore + 1;
    });
    assert.equal(reads(), readsBefore);
    await other.replace('team/project-quotas.config', quotaText(16));
    await until('the new one is in force', async () => v4Of(await source.load('default')) === 16);
    await other.replace('team/project-quotas.config', quotaText(-1));
    const wrong = await until('the error is shown', async () => {
      const loaded = await source.inForce('default');
      return loaded.problem === undefined ? undefined : loaded;
    });
    assert.deepEqual([v4Of(wrong), wrong.source, wrong.problem?.split(': ')[0]], [16, url, `${url}:4:6`]);
  });

  it('an applied file is in force at once, byte for byte as it was given, and says who applied it', async () => {
    const source = sourceOf();
    assert.equal(v4Of(await source.load('applied')), 'unlimited');
    const answer = await source.applyFiles('applied', call(quotaText(8)));
    assert.deepEqual(answer, { isApplied: true, message: 'quota.toml: in force in pool applied' });
    assert.deepEqual(
      [v4Of(await source.load('applied')), (await source.load('applied')).source],
      [8, 'applied by ann'],
    );
    const stored = (await store.read(appliedFileObject('applied', 'quota')))?.toString('utf8') ?? '';
    assert.ok(stored.startsWith(quotaText(8)), stored);
    assert.match(stored.slice(quotaText(8).length), /^# applied by ann with jobctl quota apply, 20\S+Z\n$/);
    // What somebody got from the bucket and gives back has one such line.
    await source.applyFiles('applied', call(stored, 'bob'));
    const again = (await store.read(appliedFileObject('applied', 'quota')))?.toString('utf8') ?? '';
    assert.deepEqual(again.match(/applied by \w+/g), ['applied by bob']);
    assert.equal(v4Of(await sourceOf().load('applied')), 8);
  });

  it('a wrong file is refused with its place, and nothing moves', async () => {
    const source = sourceOf();
    await source.applyFiles('refused', call(quotaText(8)));
    assert.deepEqual(await source.applyFiles('refused', call(quotaText(-1))), {
      isApplied: false,
      message: 'quota.toml:4:6: v4: -1 is not a whole number from 0 to 2147483647',
    });
    assert.deepEqual(v4Of(await source.load('refused')), 8);
  });

  it('a pool file is judged with the quota file that is in force', async () => {
    const source = sourceOf();
    await source.applyFiles('second', call(quotaText(8)));
    const poolFile = { name: 'pool.toml', text: '[[tiers]]\npricing = "spot"\n[[tiers]]\npricing = "ondemand"\n' };
    const refused = await source.applyFiles('second', { v: 1, by: 'ann', poolFile });
    assert.match(refused.message, /^pool\.toml:3:3: tiers\[1\]: the quota file has 1 tier/);
    const good = { name: 'pool.toml', text: '[borrowing_limits.b]\nv4 = 1\n' };
    assert.deepEqual(await source.applyFiles('second', { v: 1, by: 'ann', poolFile: good }), {
      isApplied: true,
      message: 'pool.toml: in force in pool second\nwarning: pool.toml:1:2: b: the quota file has no such project',
    });
    const { config } = await source.load('second');
    assert.deepEqual(config?.kind === 'limited' ? config.rules?.borrowingLimits : undefined, { b: { v4: 1 } });
  });

  it('an edited file is put in force over the one that was edited, and over no other', async () => {
    const source = sourceOf();
    const generation = async (kind: 'quota' | 'pool' = 'quota'): Promise<string> =>
      (await store.stat(appliedFileObject('edited', kind)))?.generation ?? 'none';
    const edit = (text: string, replaces: string, by = 'ann') => ({
      ...{ v: 1 as const, by },
      quotaFile: { name: 'quota.toml', text, replaces },
    });
    const refused =
      /^the quota file of pool edited was changed meanwhile by ann, at \d{4}-\S+: look at what is in force, and repeat$/;
    assert.equal((await source.applyFiles('edited', edit(quotaText(8), 'none'))).isApplied, true);
    const first = await generation();
    // A worker that died before it answered: the call is repeated, and finds what it did.
    assert.equal((await source.applyFiles('edited', edit(quotaText(8), 'none'))).isApplied, true);
    assert.equal(await generation(), first);
    for (const stale of ['none', '1'])
      assert.match((await source.applyFiles('edited', edit(quotaText(16), stale, 'bob'))).message, refused);
    assert.equal((await source.applyFiles('edited', edit(quotaText(16), first))).isApplied, true);
    assert.match((await source.applyFiles('edited', edit(quotaText(32), first, 'bob'))).message, refused);
    assert.equal(v4Of(await sourceOf().load('edited')), 16);
    // Of two files, one of which is stale, neither is put in force.
    const poolFile = { name: 'pool.toml', text: '[limits]\njobs_per_user = 1\n', replaces: 'none' };
    await store.replace(appliedFileObject('edited', 'pool'), '');
    const second = await generation();
    const both = await source.applyFiles('edited', { ...edit(quotaText(32), second), poolFile });
    assert.equal(both.isApplied, false);
    assert.equal(await generation(), second);
    assert.equal((await source.applyFiles('edited', edit(quotaText(64), 'none', 'x'))).isApplied, false);
    assert.equal(
      (await source.applyFiles('edited', { v: 1, by: 'y', quotaFile: { name: 'q', text: quotaText(4) } })).isApplied,
      true,
      'a call that names none replaces whatever is in force',
    );
  });

  it('a pool whose file is configured takes none by apply, and says where its file is', async () => {
    const source = sourceOf({ default: { quotaFile: '/etc/jobctl/quota.toml' } });
    assert.deepEqual(await source.applyFiles('default', call(quotaText(8))), {
      isApplied: false,
      message:
        "the quota file of pool default is /etc/jobctl/quota.toml, by the worker's configuration: change it there; it is read again by itself",
    });
    assert.equal(await store.stat(appliedFileObject('default', 'quota')), undefined);
    assert.equal(
      (await source.applyFiles('default', { v: 1, by: 'ann' })).message,
      'neither a quota file nor a pool file was given',
    );
  });

  it('good files are kept in the store, for a worker and a workflow that find a broken one and know nothing', async () => {
    const path = join(folder, 'kept.toml');
    const places = { kept: { quotaFile: path } };
    const stored = async (v4: number): Promise<boolean> =>
      (await store.read(lastGoodFilesObject('kept')))?.includes(`v4 = ${v4}\\n`) ?? false;
    await writeFile(path, quotaText(8));
    const source = sourceOf(places);
    await source.load('kept');
    await until('the good file is kept', () => stored(8));
    await writeFile(path, quotaText(16));
    await source.load('kept');
    await until('the next good file is kept', () => stored(16));
    await writeFile(path, quotaText(-1));
    await source.load('kept');
    const other = sourceOf(places);
    assert.equal((await other.load('kept')).config, undefined);
    assert.deepEqual([v4Of((await other.lastGood('kept')) ?? {}), await other.lastGood('without')], [16, undefined]);
    const { problem, ...kept } = await sourceOf(places).inForce('kept');
    assert.deepEqual([v4Of(kept), problem?.split(': ')[0]], [16, `${path}:4:6`]);
    await rm(path);
    assert.equal(v4Of(await sourceOf(places).inForce('kept')), 16);
    assert.equal(await stored(16), true);
  });

  it('a store that fails makes no pool unlimited', async () => {
    const source = quotaSource(
      new PoolFileReader({
        places: {},
        store: createStore({ endpoint: cloud.storeEndpoint, bucket: 'gone' }),
        openBucket,
      }),
      store,
    );
    const { config, problem } = await source.inForce('unread');
    assert.equal(config, undefined);
    assert.match(problem ?? '', /^quota\.toml as applied to pool unread: the quota file cannot be read: .*gone/);
  });
});

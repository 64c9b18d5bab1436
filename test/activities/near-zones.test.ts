import assert from 'node:assert/strict';
import { type PlaceOfBucket, withNearZones } from '../../activities/near-zones.js';
import type { BucketPlace } from '../../domain/store-place.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { askedMachines, machineRequestOf } from '../../domain/machines.js';

const ZONES = ['us-east5-a', 'us-central1-b', 'europe-west4-a'];
const PLACES: Readonly<Record<string, BucketPlace>> = {
  data: { location: 'europe-west4', locationType: 'region' },
  wide: { location: 'us', locationType: 'multi-region' },
  own: { location: 'us-central1', locationType: 'region' },
};
const placeOf: PlaceOfBucket = async (bucket) => PLACES[bucket];

interface Asked {
  readonly mounts?: readonly string[];
  /** Null: the worker cannot tell where buckets lie. */
  readonly places?: PlaceOfBucket | null;
  readonly isVerified?: boolean;
}

async function zonesOf(
  zones: readonly string[] | 'any',
  { mounts = [], places = placeOf, isVerified = false }: Asked = {},
) {
  const job = { tpu: { accelerator: 'v6e-8', zones }, command: { run: 'true' } };
  const resolved = resolveJob(job, { pool: { pool: 'default', listedZones: ZONES } });
  assert.ok(resolved.ok, JSON.stringify(resolved));
  const gcsfuse = mounts.map((bucket) => ({ bucket, path: `/mnt/${bucket}` }));
  const spec = { ...resolved.spec, gcsfuse } as typeof resolved.spec;
  const buckets = { placeOf: places ?? undefined, own: 'own', isVerified };
  return askedMachines(await withNearZones(machineRequestOf(spec), spec, buckets)).zones;
}

describe('the zones of a job that takes any', () => {
  it('stand in the order of the pool file, those near its buckets first', async () => {
    assert.deepEqual(await zonesOf('any', { mounts: ['data'] }), ['europe-west4-a', 'us-east5-a', 'us-central1-b']);
    assert.deepEqual(await zonesOf('any', { mounts: ['wide'] }), ZONES);
    assert.deepEqual(
      await zonesOf('any'),
      ['us-central1-b', 'us-east5-a', 'europe-west4-a'],
      'its own without a mount',
    );
  });

  it('stay as they are where nobody can say where a bucket lies', async () => {
    const refuses: PlaceOfBucket = () => Promise.reject(new Error('403'));
    assert.deepEqual(await zonesOf('any', { mounts: ['gone'] }), ZONES);
    assert.deepEqual(await zonesOf('any', { places: refuses }), ZONES);
    assert.deepEqual(await zonesOf('any', { places: null }), ZONES);
  });

  it('tell a user whom a server has verified nothing of a bucket that the worker alone may read', async () => {
    const asAnybody: PlaceOfBucket = async (bucket, _, login) =>
      login === 'own' || bucket === 'public' ? (PLACES[bucket] ?? PLACES['data']) : undefined;
    const shown = (mounts: readonly string[], isVerified: boolean) =>
      zonesOf('any', { mounts, places: asAnybody, isVerified });
    const near = ['europe-west4-a', 'us-east5-a', 'us-central1-b'];
    assert.deepEqual(await shown(['data'], false), near);
    assert.deepEqual(await shown(['data'], true), ZONES);
    assert.deepEqual(await shown(['public'], true), near);
    assert.deepEqual(await shown([], true), ['us-central1-b', 'us-east5-a', 'europe-west4-a'], 'its own');
  });

  it('and those of a list stay as they are written', async () =>
    assert.deepEqual(await zonesOf(ZONES, { mounts: ['data'] }), ZONES));
});

import type { JobSpec } from '../job-spec.js';
import type { GcsfuseCache, GcsfuseMount } from '../setup-spec.js';
import type { Path } from '../problem.js';
import { given } from './plain-values.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

type MountForm = Pick<NonNullable<JobFile['gcsfuse']>, 'bucket_name' | 'mount_path' | 'cache'>;

/** Mounts in the file's order: the first, then `extra_mounts`. */
export function resolveGcsfuse(file: JobFile, report: Report): JobSpec['gcsfuse'] {
  const form = given(file.gcsfuse);
  if (form === undefined) return undefined;
  const extra = form.extra_mounts ?? [];
  const first: readonly [MountForm, Path][] =
    form.bucket_name || form.mount_path || extra.length === 0 ? [[form, ['gcsfuse']]] : [];
  const all = [
    ...first,
    ...extra.map((mount, index): [MountForm, Path] => [mount, ['gcsfuse', 'extra_mounts', index]]),
  ];
  const places = new Map<string, Path>();
  return all.map(([mount, path]) => resolveMount(mount, path, places, report));
}

/** Google's characters (docs.cloud.google.com/storage/docs/buckets). How many there have to be is left to it. */
const BUCKET = /^[a-z0-9]([a-z0-9._-]{0,220}[a-z0-9])?$/;

function resolveMount(mount: MountForm, path: Path, places: Map<string, Path>, report: Report): GcsfuseMount {
  const bucket = given(mount.bucket_name);
  if (bucket === undefined) report.missing([...path, 'bucket_name'], 'such as bucket_name: my-bucket');
  else if (!BUCKET.test(bucket)) {
    const bare = bucket.replace(/^gs:\/\//, '').replace(/\/.*$/, '');
    const hint = bare === bucket ? 'small letters, digits, - _ and dots' : `the name alone: ${bare}`;
    report.wrong([...path, 'bucket_name'], bucket, 'no name of a bucket', hint);
  }
  const place = given(mount.mount_path);
  if (place === undefined) report.missing([...path, 'mount_path'], 'such as mount_path: ~/bucket');
  else checkPlace(place, [...path, 'mount_path'], places, report);
  const cache = resolveCache(mount.cache);
  const prefix = given(mount.cache?.prefix);
  return {
    bucket: bucket ?? '',
    path: place ?? '',
    ...(Object.keys(cache).length === 0 ? {} : { cache }),
    ...(prefix === undefined ? {} : { prefix }),
  };
}

function checkPlace(place: string, path: Path, places: Map<string, Path>, report: Report): void {
  const plain = place.replace(/\/+$/, '');
  if (plain === '')
    report.wrong(path, place, "the host's whole file system", 'a folder of its own, such as /mnt/bucket');
  else if (!/^(\/|~\/.)/.test(place) || place.includes('\n') || /(^|\/)\.\.(\/|$)/.test(place)) {
    report.wrong(
      path,
      place,
      'no absolute path',
      `such as ~/${place.replace(/^[~./]*/, '') || 'bucket'}, or /mnt/bucket`,
    );
  } else if (places.has(plain)) report.wrong(path, place, 'the place of two mounts', 'one bucket at each place');
  places.set(plain, path);
}

function resolveCache(form: MountForm['cache']): GcsfuseCache {
  const cache = {
    dir: form?.dir,
    metadataTtlSecs: form?.metadata_ttl_secs,
    statCacheMaxSizeMb: form?.stat_cache_max_size_mb,
    typeCacheMaxSizeMb: form?.type_cache_max_size_mb,
    fileCacheMaxSizeMb: form?.file_cache_max_size_mb,
    cacheFileForRangeRead: form?.cache_file_for_range_read,
    enableParallelDownloads: form?.enable_parallel_downloads,
  };
  return Object.fromEntries(Object.entries(cache).filter(([, value]) => given(value) !== undefined));
}

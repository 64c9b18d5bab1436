import { z } from 'zod';
import { flag, given, section, text } from '../job-file/fields.js';
import type { Report } from '../job-file/report.js';
import type { Path } from '../problem.js';
import { shellPath, shellQuote } from '../shell-quote.js';
import { APT_FUNCTIONS } from './host-scripts.js';
import { fingerprintOf, type ModuleStep, setUpModule } from './module.js';

/** Options of gcsfuse. Absent: gcsfuse's own default. */
interface GcsfuseCache {
  /** Path on the host. */
  readonly dir?: string;
  readonly metadataTtlSecs?: number;
  readonly statCacheMaxSizeMb?: number;
  readonly typeCacheMaxSizeMb?: number;
  readonly fileCacheMaxSizeMb?: number;
  readonly cacheFileForRangeRead?: boolean;
  readonly enableParallelDownloads?: boolean;
}

export interface GcsfuseMount {
  readonly bucket: string;
  /** Path on the host: absolute, or `~/..`. */
  readonly path: string;
  readonly cache?: GcsfuseCache;
  /** A script that runs before the mount, such as one that makes a RAM disk for the cache. */
  readonly prefix?: string;
}

/** To gcsfuse, -1 means no limit. */
const limit = (what: string): z.ZodOptional<z.ZodNullable<z.ZodNumber>> => {
  const error = `a whole number of ${what}, or -1`;
  return z.int({ error }).min(-1, { error }).nullish();
};

const mountKeys = () => ({
  bucket_name: text().nullish(),
  mount_path: text().nullish().describe('On the host: absolute, or ~/..'),
  cache: section({
    dir: text().nullish(),
    metadata_ttl_secs: limit('seconds'),
    stat_cache_max_size_mb: limit('megabytes'),
    type_cache_max_size_mb: limit('megabytes'),
    file_cache_max_size_mb: limit('megabytes'),
    cache_file_for_range_read: flag().nullish(),
    enable_parallel_downloads: flag().nullish(),
    prefix: text().nullish().describe('A script that runs before the mount.'),
  }).nullish(),
});

const mountForm = () => section(mountKeys());
type MountSection = z.infer<ReturnType<typeof mountForm>>;

const form = () =>
  section({
    ...mountKeys(),
    extra_mounts: z.array(mountForm(), { error: 'a list of mounts' }).nullish(),
  });
type GcsfuseSection = z.infer<ReturnType<typeof form>>;

const FORMAT = 1;

/**
 * Buckets as folders. Root mounts each one for all users, as JobMan did: root in a container and the login user can both read
 * and write. A mount of another bucket, or one that no longer answers, is replaced.
 */
export const gcsfuse = setUpModule({
  name: 'gcsfuse',
  kind: 'inputs',
  form,
  notInPods: {
    message: 'is for VMs: a pod may not mount without the privileges that jobctl does not ask for',
    hint: 'mount the bucket by the Cloud Storage FUSE CSI driver, as one of kubernetes.volumes',
  },
  example: 'such as gcsfuse: {bucket_name: my-bucket, mount_path: ~/bucket}',
  resolve: (section, { report }) => resolveMounts(section, report),
  plan: (mounts, sources) => ({
    name: 'gcsfuse',
    fingerprint: fingerprintOf(sources, FORMAT, mounts),
    check: mounts.map((mount) => `${FUNCTIONS}is_mounted ${placeAndBucket(mount)} || exit 1\n`).join(''),
    steps: [{ name: 'install', script: INSTALL }, ...mounts.flatMap(stepsOf)],
  }),
});

/** Mounts in the file's order: the first, then `extra_mounts`. */
function resolveMounts(section: GcsfuseSection, report: Report): readonly GcsfuseMount[] {
  const extra = section.extra_mounts ?? [];
  const first: readonly [MountSection, Path][] =
    section.bucket_name || section.mount_path || extra.length === 0 ? [[section, ['gcsfuse']]] : [];
  const all = [
    ...first,
    ...extra.map((mount, index): [MountSection, Path] => [mount, ['gcsfuse', 'extra_mounts', index]]),
  ];
  const places = new Map<string, Path>();
  return all.map(([mount, path]) => resolveMount(mount, path, places, report));
}

/** Characters of a bucket's name (docs.cloud.google.com/storage/docs/buckets). Google itself checks the length. */
const BUCKET = /^[a-z0-9]([a-z0-9._-]{0,220}[a-z0-9])?$/;

function resolveMount(mount: MountSection, path: Path, places: Map<string, Path>, report: Report): GcsfuseMount {
  const bucket = given(mount.bucket_name);
  if (bucket === undefined) report.missing([...path, 'bucket_name'], 'such as bucket_name: my-bucket');
  else if (!BUCKET.test(bucket)) {
    const bare = bucket.replace(/^gs:\/\//, '').split('/')[0];
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
  const plain = place.replace(/(?<!\/)\/+$/, '');
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

function resolveCache(cache: MountSection['cache']): GcsfuseCache {
  const options = {
    dir: cache?.dir,
    metadataTtlSecs: cache?.metadata_ttl_secs,
    statCacheMaxSizeMb: cache?.stat_cache_max_size_mb,
    typeCacheMaxSizeMb: cache?.type_cache_max_size_mb,
    fileCacheMaxSizeMb: cache?.file_cache_max_size_mb,
    cacheFileForRangeRead: cache?.cache_file_for_range_read,
    enableParallelDownloads: cache?.enable_parallel_downloads,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => given(value) !== undefined));
}

// Plan ---------------------------------------------------------------------------------------------------------------

function stepsOf(mount: GcsfuseMount): readonly ModuleStep[] {
  const { bucket, path, prefix } = mount;
  const before = prefix === undefined ? [] : [{ name: `prefix of ${path}`, script: prefix }];
  return [...before, { name: `mount ${bucket}`, script: mountScript(mount) }];
}

const placeAndBucket = ({ path, bucket }: GcsfuseMount): string => `${shellPath(path)} ${shellQuote(bucket)}`;

/**
 * A mount that hangs, or whose gcsfuse process has died, counts as not mounted. `stat -f` asks the file system: the kernel caches
 * the folder itself and would answer for a dead gcsfuse.
 */
const FUNCTIONS = `mounted_at() { findmnt -rno SOURCE,FSTYPE -M "$1" | tail -n 1; }
is_mounted() {
  case $(mounted_at "$1") in "$2 fuse"*) timeout 20 stat -f -- "$1/." > /dev/null ;; *) return 1 ;; esac
}
`;

/** From docs.cloud.google.com/storage/docs/cloud-storage-fuse/install, "Ubuntu or Debian (latest releases)". */
const INSTALL = `command -v gcsfuse > /dev/null && { gcsfuse --version; exit 0; }
${APT_FUNCTIONS}
key=/usr/share/keyrings/cloud.google.asc
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
echo "gcsfuse is not installed; taking it from Google's apt repository for $codename"
command -v curl > /dev/null || apt_install curl || exit 1
curl -fsSL --retry 3 https://packages.cloud.google.com/apt/doc/apt-key.gpg | $as_root tee "$key" > /dev/null || exit 1
[ -s "$key" ] || { echo "the key of packages.cloud.google.com did not arrive: Connection reset" >&2; exit 1; }
echo "deb [signed-by=$key] https://packages.cloud.google.com/apt gcsfuse-$codename main" |
  $as_root tee /etc/apt/sources.list.d/gcsfuse.list > /dev/null || exit 1
apt update && apt install -y fuse gcsfuse && command -v gcsfuse
`;

/** Unmounts only a FUSE mount. Any other mount at that place is not jobctl's. */
function mountScript(mount: GcsfuseMount): string {
  const dir = mount.cache?.dir;
  const makeCache = dir === undefined ? '' : `$as_root mkdir -p -- ${shellPath(dir)} || exit 1\n`;
  return `${FUNCTIONS}
as_root=
[ "$(id -u)" = 0 ] || as_root='sudo -n'
path=${shellPath(mount.path)}
bucket=${shellQuote(mount.bucket)}
there=$(mounted_at "$path")
case $there in
  '') ;;
  *' fuse'*)
    echo "gcsfuse: unmounting \${there%% *} from $path"
    $as_root umount -- "$path" || $as_root umount -l -- "$path" || exit 1
    ;;
  *)
    echo "gcsfuse: $path is a mount of something else ($there); choose another mount_path" >&2
    exit 1
    ;;
esac
[ -d "$path" ] || mkdir -p -- "$path" 2> /dev/null || $as_root mkdir -p -- "$path" || exit 1
# mount(8) takes a bucket for a path where a folder of its name is in the working directory.
cd /
${makeCache}$as_root gcsfuse ${flagsOf(mount.cache).join(' ')} "$bucket" "$path" || exit 1
is_mounted "$path" "$bucket" || { echo "gcsfuse: $path does not answer after the mount" >&2; exit 1; }
echo "gcsfuse: gs://$bucket is at $path"
${WARN_OF_REGION}`;
}

/**
 * Warns of traffic between regions, which is slow and is billed. Silent if the VM's service account may not see the bucket. Uses
 * the JSON API, because gcloud takes seconds to start, at STORAGE_EMULATOR_HOST if that is set, as Google's own clients do.
 */
const WARN_OF_REGION = `metadata() { curl -fsS --max-time 5 -H 'Metadata-Flavor: Google' "http://metadata.google.internal/computeMetadata/v1/instance/$1" 2> /dev/null; }
zone=$(metadata zone)
region=$(echo "\${zone##*/}" | sed 's/-[a-z]$//')
token=$(metadata service-accounts/default/token | sed -n 's/.*"access_token" *: *"\\([^"]*\\)".*/\\1/p')
place=$(printf 'header = "Authorization: Bearer %s"\\n' "$token" |
  curl -fsS --max-time 10 -K - "\${STORAGE_EMULATOR_HOST:-https://storage.googleapis.com}/storage/v1/b/$bucket?fields=location" 2> /dev/null |
  sed -n 's/.*"location" *: *"\\([^"]*\\)".*/\\1/p' | tr 'A-Z' 'a-z')
case $region,$place in
  ,* | *, | "$place,$region" | us-*,us | europe-*,eu | asia-*,asia) ;;
  *) echo "gcsfuse: WARNING: bucket $bucket lies in $place, the slice in $region: reads are slow, and Google bills the traffic" ;;
esac
exit 0
`;

const MOUNT_FLAGS = ['--implicit-dirs', '--dir-mode=777', '--file-mode=777', '-o allow_other'];

/** gcsfuse's names for JobMan's options (gcsfuse 3.8.4, --help). */
function flagsOf(cache: GcsfuseCache = {}): readonly string[] {
  const named: readonly (readonly [string, string | number | boolean | undefined])[] = [
    ['metadata-cache-ttl-secs', cache.metadataTtlSecs],
    ['stat-cache-max-size-mb', cache.statCacheMaxSizeMb],
    ['type-cache-max-size-mb', cache.typeCacheMaxSizeMb],
    ['file-cache-max-size-mb', cache.fileCacheMaxSizeMb],
    ['file-cache-cache-file-for-range-read', cache.cacheFileForRangeRead],
    ['file-cache-enable-parallel-downloads', cache.enableParallelDownloads],
  ];
  const flags = named.flatMap(([flag, value]) => (value === undefined ? [] : [`--${flag}=${String(value)}`]));
  return [...MOUNT_FLAGS, ...(cache.dir === undefined ? [] : [`--cache-dir=${shellPath(cache.dir)}`]), ...flags];
}

import type { ModulePlan, ModuleStep } from '../../cloud/hosts/port.js';
import type { GcsfuseCache, GcsfuseMount } from '../../domain/setup-spec.js';
import { shellPath, shellQuote } from '../../domain/shell-quote.js';
import { APT_FUNCTIONS } from './apt-install.js';
import { fingerprintOf } from './fingerprint.js';

const FORMAT = 1;

/**
 * Buckets as folders, each mounted by root for everybody: root in a container and the login user both read and write it, as with
 * JobMan. A mount of another bucket, or one that no longer answers, is made anew.
 */
export function gcsfuseModule(mounts: readonly GcsfuseMount[]): ModulePlan {
  return {
    name: 'gcsfuse',
    fingerprint: fingerprintOf(FORMAT, mounts),
    check: mounts.map((mount) => `${FUNCTIONS}is_mounted ${placeAndBucket(mount)} || exit 1\n`).join(''),
    steps: [{ name: 'install', script: INSTALL }, ...mounts.flatMap(stepsOf)],
  };
}

function stepsOf(mount: GcsfuseMount): readonly ModuleStep[] {
  const { bucket, path, prefix } = mount;
  const before = prefix === undefined ? [] : [{ name: `prefix of ${path}`, script: prefix }];
  return [...before, { name: `mount ${bucket}`, script: mountScript(mount) }];
}

const placeAndBucket = ({ path, bucket }: GcsfuseMount): string => `${shellPath(path)} ${shellQuote(bucket)}`;

/**
 * A mount that hangs, or whose gcsfuse has died, answers nothing: it is not there. Asked of the file system, since the kernel
 * remembers the folder itself for a while, and answers for a gcsfuse that is dead.
 */
const FUNCTIONS = `mounted_at() { findmnt -rno SOURCE,FSTYPE -M "$1" | tail -n 1; }
is_mounted() {
  case $(mounted_at "$1") in "$2 fuse"*) timeout 20 stat -f -- "$1/." > /dev/null ;; *) return 1 ;; esac
}
`;

/** Google's way: docs.cloud.google.com/storage/docs/cloud-storage-fuse/install, "Ubuntu or Debian (latest releases)". */
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

/** Only a FUSE mount is taken away; anything else at that place is somebody's. */
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
 * Traffic between regions is slow and is billed. What the VM's service account may not see is not told. By the JSON API, since
 * gcloud takes seconds to start; at STORAGE_EMULATOR_HOST where that is set, as Google's own clients do.
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

/** gcsfuse's names for JobMan's (gcsfuse 3.8.4, --help). */
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

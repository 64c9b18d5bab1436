// gcsfuse [options] BUCKET MOUNT_POINT: checks, mounts, and leaves a server in the background. Fails as gcsfuse 3 does.
import { spawn, spawnSync } from 'node:child_process';
import { lstatSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getBucket } from '../storage/client.mjs';

/** Options with an effect here. A name that ends in `=` takes a value. */
const KNOWN = [
  'implicit-dirs',
  'foreground',
  'dir-mode=',
  'file-mode=',
  'uid=',
  'gid=',
  'only-dir=',
  'o=',
  'rename-dir-limit=',
];
/** Options that tune caches, connections and logs, which do not exist here. */
const WITHOUT_EFFECT =
  /^(stat-cache|type-cache|metadata-cache|file-cache|cache-|kernel-list-cache|max-|limit-|log-|debug|enable-|experimental-|sequential-|temp-dir|app-name|billing-project|client-protocol|custom-endpoint|anonymous-access|key-file|token-url|http-client|retry-|disable-|ignore-interrupts|create-empty-file|write-|read-|config-file|profile|reuse-token|prometheus|cloud-metrics)/;
const BOOLEAN =
  /^(implicit-dirs|foreground|debug|enable-|experimental-enable|disable-|anonymous-access|ignore-interrupts|create-empty-file|file-cache-cache-file-for-range-read|file-cache-enable)/;

const say = (text) => process.stderr.write(`${text}\n`);

function notKnown(what) {
  say(`gcsfuse: ${what} is not known to this stand-in of the rehearsal (README of @jobctl/cloud-tpu-rehearsal)`);
  process.exit(127);
}

function fail(reason) {
  say(`Error: daemonize.Run: readFromProcess: sub-process: mountWithArgs: mountWithStorageHandle: ${reason}`);
  process.exit(1);
}

function readWords(argv) {
  const words = [...argv];
  const options = { mount: [] };
  const rest = [];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const match = /^--?([a-z][a-z_-]*)(?:=(.*))?$/s.exec(word);
    if (match === null) {
      rest.push(word);
      continue;
    }
    const name = match[1].replaceAll('_', '-');
    if (!KNOWN.includes(name) && !KNOWN.includes(`${name}=`) && !WITHOUT_EFFECT.test(name)) notKnown(`option ${word}`);
    const value = match[2] ?? (BOOLEAN.test(name) ? 'true' : words.shift());
    if (name === 'o') options.mount.push(...(value ?? '').split(','));
    else options[name] = value;
  }
  return { options, rest };
}

function mountOptions(asked) {
  const taken = asked.filter((option) =>
    /^(ro|rw|allow_other|noatime|nosuid|nodev|noexec|default_permissions)$/.test(option),
  );
  const strange = asked.find(
    (option) => !taken.includes(option) && !/^(nonempty|_netdev|user|noauto|auto_unmount|implicit_dirs)?$/.test(option),
  );
  if (strange !== undefined) notKnown(`mount option ${strange}`);
  const ids = `user_id=${process.getuid()},group_id=${process.getgid()}`;
  return ['fd=3', 'rootmode=40000', ids, ...taken].join(',');
}

/** A mount point may contain files: fusermount3, which TPU VMs have, accepts that. */
function checkMountPoint(path) {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  const reason = found === undefined ? 'No such file or directory' : 'Not a directory';
  fail(`mount: fusermount: exit status 1: failed to access mountpoint ${path}: ${reason}`);
}

const { options, rest } = readWords(process.argv.slice(2));
if (rest.length === 1) notKnown('a mount of all buckets');
if (rest.length !== 2) {
  say('Error: gcsfuse takes one or two arguments.\nUsage:\n  gcsfuse [flags] [bucket] mount_point');
  process.exit(1);
}
const [bucket, mountPoint] = [rest[0], resolve(rest[1])];
const SETTING_UP = 'fs.NewServer: create file system: SetUpBucket: BucketHandle: storageLayout call failed';
await getBucket(bucket).catch((error) => {
  if (error.status === 404)
    fail(`${SETTING_UP}: rpc error: code = NotFound desc = The specified bucket does not exist.`);
  fail(`${SETTING_UP}: ${error.message}${error.cause === undefined ? '' : `: ${error.cause.message}`}`);
});
checkMountPoint(mountPoint);

let device;
try {
  device = openSync('/dev/fuse', 'r+');
} catch {
  fail("mount: fusermount: fuse device not found, try 'modprobe fuse' first");
}
const mount = spawnSync('mount', ['-i', '-t', 'fuse.gcsfuse', bucket, mountPoint, '-o', mountOptions(options.mount)], {
  stdio: ['ignore', 'ignore', 'pipe', device],
});
if (mount.status !== 0) fail(`mount: ${mount.stderr?.toString().trim() || mount.error?.message}`);
const isForeground = options.foreground === 'true';
const server = spawn(
  process.execPath,
  [fileURLToPath(new URL('server.mjs', import.meta.url)), bucket, mountPoint, JSON.stringify(options)],
  {
    cwd: '/',
    detached: !isForeground,
    stdio: ['ignore', isForeground ? 'inherit' : 'ignore', isForeground ? 'inherit' : 'ignore', device],
  },
);
process.stdout.write('File system has been successfully mounted.\n');
if (isForeground) {
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal));
  server.on('exit', (code) => process.exit(code ?? 1));
} else {
  server.unref();
  process.exit(0);
}

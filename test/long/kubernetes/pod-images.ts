import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from '../../../cloud/machines/kubernetes/cluster.js';
import { importImage } from './kube-node.js';

const CACHE = join(homedir(), '.cache/kube-node');

/** The node tells its images a few seconds late: one that is not listed may be imported twice. */
async function isThere({ core }: Cluster, name: string): Promise<boolean> {
  const { items } = await core.listNode();
  return items.some(({ status }) => status?.images?.some(({ names }) => names?.includes(name)));
}

/** A Debian of the essential packages, made once by mmdebstrap. @param more its further words */
async function bookwormImage(cluster: Cluster, name: string, more: readonly string[] = []): Promise<string> {
  const image = `docker.io/local/${name}:1`;
  if (await isThere(cluster, image)) return image;
  const rootfs = join(CACHE, name);
  if (!existsSync(join(rootfs, 'usr/bin/bash'))) {
    const draft = mkdtempSync(join(CACHE, 'draft-'));
    execFileSync('mmdebstrap', ['--variant=essential', ...more, 'bookworm', draft], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    rmSync(rootfs, { recursive: true, force: true });
    execFileSync('mv', [draft, rootfs]);
  }
  importImage(image, rootfs);
  return image;
}

/** A small Debian as users have it: bash, coreutils, util-linux. */
export const debianImage = (cluster: Cluster): Promise<string> => bookwormImage(cluster, 'hosts-debian');

/** Of PyPI, without the extra `default`: no dashboard and no Ray Client, 250 MB. */
const RAY = 'ray==2.60.0';

/** The same Debian with Python and Ray. Python 3.11 is bookworm's, for which the wheels are fetched. */
export async function rayImage(cluster: Cluster): Promise<string> {
  const wheels = mkdtempSync('/var/tmp/hosts-ray-');
  try {
    return await bookwormImage(cluster, 'hosts-ray', [
      '--include=python3,python3-pip,libstdc++6',
      `--customize-hook=python3 -m pip download --quiet --only-binary=:all: --python-version 3.11 --dest ${wheels} ${RAY}`,
      `--customize-hook=copy-in ${wheels} /var/tmp`,
      `--customize-hook=chroot "$1" env PIP_FIND_LINKS=${wheels} python3 -m pip install --quiet --no-index --no-compile --break-system-packages --root-user-action=ignore ${RAY}`,
      `--customize-hook=rm -r "$1${wheels}"`,
    ]);
  } finally {
    rmSync(wheels, { recursive: true });
  }
}

/** Busybox and a bash alone: enough for the agent, and not for the runner. */
export async function busyboxImage(cluster: Cluster): Promise<string> {
  const name = 'docker.io/local/hosts-busybox:1';
  if (await isThere(cluster, name)) return name;
  const rootfs = mkdtempSync('/var/tmp/hosts-busybox-');
  try {
    mkdirSync(join(rootfs, 'bin'));
    for (const folder of ['tmp', 'root', 'etc']) mkdirSync(join(rootfs, folder));
    writeFileSync(join(rootfs, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
    copyFileSync('/bin/busybox', join(rootfs, 'bin/busybox'));
    copyFileSync('/bin/bash-static', join(rootfs, 'bin/bash'));
    const tools = execFileSync('/bin/busybox', ['--list']).toString().trim().split('\n');
    for (const tool of tools.filter((each) => !['busybox', 'bash', 'flock'].includes(each)))
      symlinkSync('busybox', join(rootfs, 'bin', tool));
    importImage(name, rootfs);
    return name;
  } finally {
    rmSync(rootfs, { recursive: true });
  }
}

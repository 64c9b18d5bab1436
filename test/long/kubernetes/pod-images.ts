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

/** A small Debian as users have it: bash, coreutils, util-linux. Made once by mmdebstrap. */
export async function debianImage(cluster: Cluster): Promise<string> {
  const name = 'docker.io/local/hosts-debian:1';
  if (await isThere(cluster, name)) return name;
  const rootfs = join(CACHE, 'hosts-debian');
  if (!existsSync(join(rootfs, 'usr/bin/bash'))) {
    const draft = mkdtempSync(join(CACHE, 'draft-'));
    execFileSync('mmdebstrap', ['--variant=essential', 'bookworm', draft], { stdio: ['ignore', 'ignore', 'inherit'] });
    rmSync(rootfs, { recursive: true, force: true });
    execFileSync('mv', [draft, rootfs]);
  }
  importImage(name, rootfs);
  return name;
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

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import type { VolumeMount } from '../vm/boot.js';
import type { Pod, Volume } from './objects.js';
import type { ObjectStore } from './object-store.js';
import { CONFIG_MAPS, SECRETS } from './resources.js';

/** A volume that cannot be made yet. */
export class MountFailure extends Error {
  override readonly name = 'MountFailure';
}

/** Folders of volumes on this computer. */
export interface VolumePlace {
  /** Folder of the pod, deleted with it. */
  readonly pod: string;
  /** Folder that outlives pods: for claims, and for the nodes' own disk (`hostPath`), which is not this computer's disk. */
  readonly lasting: string;
}

/** Makes the volumes of a pod's container. @throws MountFailure in the kubelet's words */
export function mountsOf(store: ObjectStore, { spec, metadata }: Pod, place: VolumePlace): readonly VolumeMount[] {
  const namespace = metadata.namespace ?? '';
  const made = new Map(
    (spec.volumes ?? []).map((volume) => [volume.name, folderOf(store, namespace, volume, place)] as const),
  );
  const mounts = (spec.containers[0]?.volumeMounts ?? []).map(({ name, mountPath, readOnly }) => {
    const isContent = spec.volumes?.some((each) => each.name === name && (each.configMap ?? each.secret));
    return { source: made.get(name) ?? '', target: mountPath, isReadOnly: readOnly === true || Boolean(isContent) };
  });
  // A folder comes before the mounts inside it.
  return mounts.toSorted((a, b) => a.target.length - b.target.length);
}

function folderOf(store: ObjectStore, namespace: string, volume: Volume, { pod, lasting }: VolumePlace): string {
  const { name, configMap, secret, persistentVolumeClaim: claim, hostPath } = volume;
  const own = join(pod, 'volumes', name);
  if (configMap !== undefined) {
    const found = store.get(CONFIG_MAPS, namespace, configMap.name);
    if (found === undefined) throw missing(name, 'configmap', configMap.name);
    const data = Object.entries((found['data'] ?? {}) as Readonly<Record<string, string>>);
    return withFiles(own, data, configMap.defaultMode ?? 0o644);
  }
  if (secret !== undefined) {
    const found = store.get(SECRETS, namespace, secret.secretName);
    if (found === undefined) throw missing(name, 'secret', secret.secretName);
    const encoded = Object.entries((found['data'] ?? {}) as Readonly<Record<string, string>>);
    const data = encoded.map(([key, value]) => [key, Buffer.from(value, 'base64')] as const);
    return withFiles(own, data, secret.defaultMode ?? 0o644);
  }
  const folder = claim
    ? join(lasting, 'claims', namespace, claim.claimName)
    : hostPath
      ? join(lasting, 'node-disk', join('/', hostPath.path))
      : own;
  makeFolderSync(folder);
  return folder;
}

const missing = (volume: string, what: string, name: string): MountFailure =>
  new MountFailure(`MountVolume.SetUp failed for volume "${volume}" : ${what} "${name}" not found`);

function withFiles(folder: string, files: readonly (readonly [string, string | Buffer])[], mode: number): string {
  makeFolderSync(folder);
  for (const [name, content] of files) {
    const file = join(folder, name);
    writeFileSync(file, content);
    chmodSync(file, mode);
  }
  return folder;
}

import { imagePath, VM_COMMANDS } from '../vm/environment.js';
import { commandsOf } from './images.js';
import type { EnvVar, KubeObject, Pod } from './objects.js';
import type { ObjectStore } from './object-store.js';
import { SECRETS } from './resources.js';

/** An object that a container's environment takes a value from is not there yet. The kubelet tries again. */
export class ConfigFailure extends Error {
  override readonly name = 'ConfigFailure';
}

/**
 * Environment of every process of a pod's container: that of a Debian image, with the additions of the pod's spec.
 * @throws ConfigFailure in the kubelet's words
 */
export function containerEnvironment(
  store: ObjectStore,
  pod: Pod,
  cluster: Readonly<Record<string, string>>,
): Record<string, string> {
  const [main] = pod.spec.containers;
  const own = (main?.env ?? []).map((variable) => [variable.name, valueOf(store, pod, variable)] as const);
  return {
    PATH: commandsOf(main?.image ?? '') === undefined ? imagePath() : [...VM_COMMANDS, imagePath()].join(':'),
    HOME: '/root',
    HOSTNAME: pod.spec.hostname ?? pod.metadata.name,
    ...cluster,
    ...(Object.fromEntries(own) as Record<string, string>),
  };
}

function valueOf(store: ObjectStore, { metadata }: Pod, { value = '', valueFrom }: EnvVar): string {
  const { fieldRef, secretKeyRef } = valueFrom ?? {};
  if (secretKeyRef !== undefined) {
    const { name, key } = secretKeyRef;
    const secret = store.get(SECRETS, metadata.namespace ?? '', name);
    if (secret === undefined) throw new ConfigFailure(`secret "${name}" not found`);
    const encoded = (secret['data'] as Readonly<Record<string, string>> | undefined)?.[key];
    if (encoded === undefined)
      throw new ConfigFailure(`couldn't find key ${key} in Secret ${metadata.namespace}/${name}`);
    return Buffer.from(encoded, 'base64').toString();
  }
  return fieldRef === undefined ? value : fieldOf(metadata, fieldRef.fieldPath);
}

/** `metadata.name`, `metadata.namespace`, `metadata.uid`, `metadata.labels['KEY']`, and the same of annotations. */
function fieldOf(metadata: KubeObject['metadata'], path: string): string {
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['([^']*)'\]$/.exec(path) ?? [];
  if (map === 'labels' || map === 'annotations') return metadata[map]?.[key] ?? '';
  const fields = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
  };
  return (fields as Readonly<Record<string, string | undefined>>)[path] ?? '';
}

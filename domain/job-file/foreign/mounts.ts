import type { Mapping } from '../plain-tree.js';
import { listOf, mappingOf, shownOf, textOf, type Translation } from './translation.js';

/** Writes the volumes that a container mounts. One without a counterpart is named by the path that the program sees. */
export function putMounts(into: Translation, pod: Mapping, container: Mapping): void {
  const volumes: Mapping[] = [];
  const secrets: Mapping[] = [];
  for (const mount of listOf(container['volumeMounts']).map(mappingOf)) {
    const path = textOf(mount['mountPath']);
    const volume = mappingOf(listOf(pod['volumes']).find((one) => mappingOf(one)['name'] === mount['name']));
    const source = Object.keys(volume).find((key) => key !== 'name') ?? 'no volume';
    const read = READ[source]?.(mappingOf(volume[source]));
    const shown = `volume ${path ?? shownOf(mount['name'])}`;
    if (path === undefined || read === undefined || mount['subPath'] !== undefined)
      into.lose(INSTEAD[source] ?? '', shown);
    else if (source === 'secret') secrets.push({ ...read, mount_path: path });
    else volumes.push({ mount_path: path, ...read, ...(mount['readOnly'] === true && { read_only: true }) });
  }
  if (volumes.length > 0) into.set('kubernetes.volumes', volumes);
  if (secrets.length > 0) into.set('kubernetes.secrets', secrets);
}

const READ: Readonly<Record<string, (source: Mapping) => Mapping | undefined>> = {
  emptyDir: ({ medium, sizeLimit }) => {
    const size = textOf(sizeLimit);
    const keys = { ...(medium === 'Memory' && { medium: 'memory' }), ...(size !== undefined && { size }) };
    return { empty_dir: Object.keys(keys).length === 0 ? true : keys };
  },
  hostPath: ({ path }) => ({ host_path: path }),
  persistentVolumeClaim: ({ claimName }) => ({ claim: claimName }),
  secret: ({ secretName, items }) => (items === undefined ? { name: secretName } : undefined),
};

const INSTEAD: Readonly<Record<string, string>> = {
  configMap: 'bring its files by bundle or files',
  csi: 'a PersistentVolumeClaim of the same driver is volumes: [{claim: NAME, mount_path: ..}]',
};

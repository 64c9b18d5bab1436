import { imagePath, VM_COMMANDS } from '../vm/environment.js';
import { commandsOf } from './images.js';
import type { Pod } from './objects.js';

/** Environment of every process of a pod's container: that of a Debian image, with the additions of the pod's spec. */
export function containerEnvironment(
  { spec, metadata }: Pod,
  cluster: Readonly<Record<string, string>>,
): Record<string, string> {
  const own = (spec.containers[0]?.env ?? []).map(({ name, value = '' }) => [name, value] as const);
  return {
    PATH:
      commandsOf(spec.containers[0]?.image ?? '') === undefined ? imagePath() : [...VM_COMMANDS, imagePath()].join(':'),
    HOME: '/root',
    HOSTNAME: spec.hostname ?? metadata.name,
    ...cluster,
    ...(Object.fromEntries(own) as Record<string, string>),
  };
}

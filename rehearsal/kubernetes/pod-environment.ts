import { imagePath, VM_COMMANDS } from '../vm/environment.js';
import { commandsOf } from './images.js';
import type { Pod } from './objects.js';

/** What every process of a pod's container starts with: as an image of Debian has it, and what the pod's spec adds. */
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

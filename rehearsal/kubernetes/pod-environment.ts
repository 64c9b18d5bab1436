import { imagePath } from '../vm/environment.js';
import type { Pod } from './objects.js';

/** What every process of a pod's container starts with: as an image of Debian has it, and what the pod's spec adds. */
export function containerEnvironment(
  { spec, metadata }: Pod,
  cluster: Readonly<Record<string, string>>,
): Record<string, string> {
  const own = (spec.containers[0]?.env ?? []).map(({ name, value = '' }) => [name, value] as const);
  return {
    PATH: imagePath(),
    HOME: '/root',
    HOSTNAME: spec.hostname ?? metadata.name,
    ...cluster,
    ...(Object.fromEntries(own) as Record<string, string>),
  };
}

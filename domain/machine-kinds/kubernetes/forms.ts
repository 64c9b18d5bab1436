import { z } from 'zod';
import { TOLERATION_EFFECTS } from './words.js';

/** Forms of refs and plans that all kinds of machines made of pods share. Functions: docs/adr/0012. */

const text = z.string();

export const refKeys = () => ({
  context: text.min(1).exactOptional(),
  namespace: text.min(1),
  zone: text.min(1),
  name: text.min(1),
});

export const ownershipForm = () =>
  z.object({ owner: text, job: text, run: text, generation: z.int().min(0), spec: text });

const volume = z.object({
  mountPath: text,
  claim: text.exactOptional(),
  emptyDir: z.object({ medium: z.enum(['disk', 'memory']), size: text.exactOptional() }).exactOptional(),
  hostPath: text.exactOptional(),
  readOnly: z.literal(true).exactOptional(),
});
const toleration = z.object({
  key: text.exactOptional(),
  operator: z.enum(['Equal', 'Exists']),
  value: text.exactOptional(),
  effect: z.enum(TOLERATION_EFFECTS).exactOptional(),
});

/** Form of `PodFields`, without its place. */
export const podFieldKeys = () => ({
  image: text.min(1),
  nodeSelector: z.record(text, text),
  tolerations: z.array(toleration),
  serviceAccount: text.exactOptional(),
  priorityClass: text.exactOptional(),
  secrets: z.array(z.object({ name: text, mountPath: text })),
  volumes: z.array(volume),
  labels: z.record(text, text),
  gangSeconds: z.number().min(1),
});

/** Form of `PodSize`. */
export const podSizeKeys = () => ({
  gpus: z.object({ count: z.int().min(1), type: text, resource: text }).exactOptional(),
  cpus: text.exactOptional(),
  memory: text.exactOptional(),
});

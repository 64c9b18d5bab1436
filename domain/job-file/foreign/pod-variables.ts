import { isMapping, type Mapping, valueAt } from '../plain-tree.js';
import { listOf, mappingOf, shownOf, type Translation } from './translation.js';
import { type Given, putVariables, secretNameOf } from './variables.js';

/** Variables that jobctl sets (docs/kubernetes.md, "PyTorch and JAX"): a value in `env` would win over the right one. */
const OF_LIBRARIES =
  /^(MASTER_(ADDR|PORT)|WORLD_SIZE|RANK|PET_\w+|JAX_(COORDINATOR_ADDRESS|NUM_PROCESSES|PROCESS_ID))$/;
const OWN = 'jobctl sets JOBCTL_*, and what PyTorch and JAX read (docs/kubernetes.md)';

/** Writes the variables of a container. @param owner the name of the manifest, which begins the names of its pods */
export function putPodVariables(into: Translation, container: Mapping, owner: string): void {
  const given: [string, unknown][] = [];
  for (const { name, value, valueFrom } of listOf(container['env']).filter(isMapping)) {
    const [key, secret] = [shownOf(name), valueAt(valueFrom, ['secretKeyRef', 'name'])];
    const secretName = secretNameOf(key);
    if (secret !== undefined)
      into.lose(
        `secrets: {${key}: ${secretName}}, after \`jobctl secret put ${secretName} --from-file FILE\``,
        `env ${key} of Secret ${shownOf(secret)}`,
      );
    else if (valueFrom !== undefined || OF_LIBRARIES.test(key) || peersIn(shownOf(value), owner).length > 0)
      into.lose(OWN, `env ${key}`);
    else given.push([key, value]);
  }
  putVariables(into, given satisfies Given);
  const sources = listOf(container['envFrom']).map((one) => `envFrom ${Object.keys(mappingOf(one)).join(' ')}`);
  into.lose('write env and secrets', ...sources);
}

/** Names of the manifest's own pods in a text: `OWNER-workers-0-0.OWNER`. */
export function peersIn(text: string, owner: string): readonly string[] {
  if (owner === '') return [];
  return text.split(/[^\w.-]+/).filter((word) => {
    const [label = '', subdomain] = word.split('.');
    return subdomain !== undefined && label.startsWith(`${owner}-`) && /-\d+$/.test(label);
  });
}

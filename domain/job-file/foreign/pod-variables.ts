import { isMapping, type Mapping, valueAt } from '../plain-tree.js';
import { listOf, mappingOf, shownOf, type Translation } from './translation.js';
import { type KubeletVariables, OF_LIBRARIES, type Piece, plainText } from './kubelet-variables.js';
import { type Given, putVariables, secretNameOf } from './variables.js';

const OWN = 'jobctl sets JOBCTL_*, and what PyTorch and JAX read (docs/kubernetes.md)';

export interface OfPod {
  readonly variables: KubeletVariables;
  /** The name of the manifest, which begins the names of its pods. */
  readonly owner: string;
}

/** Writes the variables of a container. */
export function putPodVariables(into: Translation, container: Mapping, { variables, owner }: OfPod): void {
  const given: [string, unknown][] = [];
  for (const { name, valueFrom } of listOf(container['env']).filter(isMapping)) {
    const [key, secret] = [shownOf(name), valueAt(valueFrom, ['secretKeyRef', 'name'])];
    const secretName = secretNameOf(key);
    if (secret !== undefined)
      into.lose(
        `secrets: {${key}: ${secretName}}, after \`jobctl secret put ${secretName} --from-file FILE\``,
        `env ${key} of Secret ${shownOf(secret)}`,
      );
    else if (valueFrom !== undefined || OF_LIBRARIES.test(key)) into.lose(OWN, `env ${key}`);
    else {
      const pieces = variables.valueOf(key);
      const text = plainText(pieces);
      if (text === undefined) into.lose(`export it in the command, with ${namesIn(pieces)} filled in`, `env ${key}`);
      else if (peersIn(text, owner).length > 0) into.lose(OWN, `env ${key}`);
      else given.push([key, text]);
    }
  }
  putVariables(into, given satisfies Given);
  const sources = listOf(container['envFrom']).map((one) => `envFrom ${Object.keys(mappingOf(one)).join(' ')}`);
  into.lose('write env and secrets', ...sources);
}

/** The names in pieces that are no text: `$(POD_IP)`, and behind it the variable that has the same value. */
export const namesIn = (pieces: readonly Piece[]): string =>
  [
    ...new Set(
      pieces.flatMap((piece) => {
        if ('text' in piece) return [];
        return 'open' in piece ? [`$(${piece.open})`] : [`$(${piece.of}), which is $${piece.variable},`];
      }),
    ),
  ].join(' and ');

/** Names of the manifest's own pods in a text: `OWNER-workers-0-0.OWNER`. */
export function peersIn(text: string, owner: string): readonly string[] {
  if (owner === '') return [];
  return text.split(/[^\w.-]+/).filter((word) => {
    const [label = '', subdomain] = word.split('.');
    return subdomain !== undefined && label.startsWith(`${owner}-`) && /-\d+$/.test(label);
  });
}

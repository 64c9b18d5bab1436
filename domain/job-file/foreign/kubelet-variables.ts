import { isMapping, type Mapping, valueAt } from '../plain-tree.js';
import { isSecret, isSecretName } from '../secret-looks.js';
import { listOf, shownOf } from './translation.js';

/** A part of a text: as it stands, a variable that the command finds in its environment, or a name that nothing here says. */
export type Piece =
  | { readonly text: string }
  | { readonly variable: string; readonly of: string }
  | { readonly open: string };

/** Variables that jobctl sets (docs/kubernetes.md, "PyTorch and JAX"): a value in `env` would win over the right one. */
export const OF_LIBRARIES =
  /^(MASTER_(ADDR|PORT)|WORLD_SIZE|RANK|PET_\w+|JAX_(COORDINATOR_ADDRESS|NUM_PROCESSES|PROCESS_ID))$/;
/** Variables that the cluster gives its own pods and those of jobctl alike. */
const OF_GKE = /^(TPU_WORKER_(ID|HOSTNAMES)|MEGASCALE_\w+)$/;
const OF_SERVICES = /_SERVICE_(HOST|PORT)/;

const REFERENCE = /\$(?:\$|\(([^)]{0,300})\))/g;

/** Fills in `$(NAME)` as the kubelet does before the container starts: `$$` is a dollar, and unknown names stay as they are. */
export class KubeletVariables {
  readonly #known = new Map<string, readonly Piece[]>([
    ['JOB_COMPLETION_INDEX', [{ variable: 'JOBCTL_HOST_INDEX', of: 'JOB_COMPLETION_INDEX' }]],
  ]);
  readonly #values = new Map<string, readonly Piece[]>();
  /** `envFrom` may have any name; those of programs are in small letters. */
  readonly #mayHaveMore: boolean;

  constructor(container: Mapping) {
    this.#mayHaveMore = listOf(container['envFrom']).length > 0;
    for (const variable of listOf(container['env']).filter(isMapping)) {
      const name = shownOf(variable['name']);
      this.#values.set(name, this.read(shownOf(variable['value'])));
      this.#known.set(name, this.#valueOf(variable));
    }
  }

  /** The value of a variable: names that come behind it are not yet known. */
  valueOf(name: string): readonly Piece[] {
    return this.#values.get(name) ?? [];
  }

  #valueOf({ name, value, valueFrom }: Mapping): readonly Piece[] {
    const [key, text] = [shownOf(name), shownOf(value)];
    const isOfJob =
      OF_LIBRARIES.test(key) ||
      valueAt(valueFrom, ['secretKeyRef']) !== undefined ||
      isSecret(key, text) ||
      (isSecretName(key) && text === '');
    if (isOfJob) return [{ variable: key, of: key }];
    return valueFrom === undefined ? this.read(text) : [{ open: key }];
  }

  read(text: string): readonly Piece[] {
    const pieces: Piece[] = [];
    let end = 0;
    for (const { 0: whole, 1: name, index } of text.matchAll(REFERENCE)) {
      pieces.push(
        { text: text.slice(end, index) },
        ...(name === undefined ? [{ text: '$' }] : this.#named(name, whole)),
      );
      end = index + whole.length;
    }
    return [...pieces, { text: text.slice(end) }];
  }

  #named(name: string, whole: string): readonly Piece[] {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    if (OF_LIBRARIES.test(name) || OF_GKE.test(name)) return [{ variable: name, of: name }];
    const isOpen = OF_SERVICES.test(name) || (this.#mayHaveMore && /^[A-Z_][A-Z\d_]*$/.test(name));
    return [isOpen ? { open: name } : { text: whole }];
  }
}

/** The text of pieces that are nothing else; undefined for any other. */
export const plainText = (pieces: readonly Piece[]): string | undefined =>
  pieces.every((piece) => 'text' in piece)
    ? pieces.map((piece) => ('text' in piece ? piece.text : '')).join('')
    : undefined;

/** One word of a shell in which variables have their values when it runs. */
export const quotedWord = (pieces: readonly Piece[]): string =>
  `"${pieces
    .map((piece) => {
      if ('text' in piece) return piece.text.replace(/[\\"$`]/g, String.raw`\$&`);
      return 'variable' in piece ? `\${${piece.variable}}` : '';
    })
    .join('')}"`;

import { isSecret, isSecretName } from '../secret-looks.js';
import { isMapping, type Mapping, valueAt } from '../plain-tree.js';
import { OPEN, shownOf, type Translation, listOf, mappingOf } from './translation.js';

/** Variables of a command, each with its value. Undefined or null: the value is the submitter's. */
export type Given = readonly (readonly [name: string, value: unknown])[];

const NAME = /^[A-Za-z_]\w*$/;

/**
 * Writes variables into `env`. Secrets are written by their names alone, because messages end up in logs and screenshots.
 * @param ofSecrets variables that the other tool keeps as secrets, whatever their names
 */
export function putVariables(into: Translation, given: Given, ofSecrets: Given = []): void {
  const env: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  const isKept = new Set(ofSecrets.map(([name]) => name));
  for (const [name, value] of [...given, ...ofSecrets]) {
    if (!NAME.test(name)) into.lose('no name of a variable', name);
    else if (isReserved(name)) into.lose('jobctl sets it by itself', name);
    else if (isKept.has(name) || OF_SECRETS.test(shownOf(value))) secrets[name] = secretNameOf(name);
    else if (isSecretName(name) && (hasNoValue(value) || value === '')) secrets[name] = secretNameOf(name);
    else if (isSecret(name, shownOf(value))) secrets[name] = secretNameOf(name);
    else env[name] = hasNoValue(value) ? OPEN : shownOf(value);
  }
  if (Object.keys(env).length > 0) into.set('env', env);
  const [first] = Object.values(secrets);
  if (first === undefined) return;
  const written = ofSecrets.flatMap(([name, value]) => (hasNoValue(value) || value === '' ? [] : [name]));
  if (written.length > 0) into.note(`the value of ${written.join(', ')} is not repeated: put it into FILE`);
  into.set('secrets', secrets, `each by \`jobctl secret put ${first} --from-file FILE\``);
}

const secretNameOf = (variable: string): string => variable.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

/** Matches `${{ secrets.x }}` anywhere in a value. */
const OF_SECRETS = /\$\{\{\s*secrets\./;
/** Matches `${{ secrets.x }}` and `${X}` alone, which the other tool fills in. */
const hasNoValue = (value: unknown): boolean =>
  value === null || value === undefined || /^\$\{[^}]*\}\}?$/.test(shownOf(value));
const isReserved = (name: string): boolean => name.startsWith('JOBCTL_') || name.startsWith('MEGASCALE_');

/** Variables that another tool sets, each with jobctl's counterpart. Other names with the prefix have no counterpart. */
interface OwnVariables {
  /** Prefix of the tool's variables. */
  readonly prefix: string;
  readonly names: Readonly<Record<string, string>>;
}

const GPUS = 'write the number';
const [RANK, NODES, JOB] = ['$JOBCTL_HOST_INDEX, in its slice', '$JOBCTL_NUM_HOSTS, of its slice', '$JOBCTL_JOB_ID'];

/** Variables that each tool sets for the programs that it runs. */
const OWN_VARIABLES = {
  skypilot: {
    prefix: 'SKYPILOT_',
    names: {
      SKYPILOT_NODE_RANK: RANK,
      SKYPILOT_NODE_IPS: '$JOBCTL_HOST_IPS, with commas in place of new lines',
      SKYPILOT_NUM_NODES: NODES,
      SKYPILOT_NUM_GPUS_PER_NODE: GPUS,
      SKYPILOT_TASK_ID: JOB,
      SKYPILOT_RUN_ID: JOB,
      SKYPILOT_INTERNAL_JOB_ID: JOB,
    },
  },
  dstack: {
    prefix: 'DSTACK_',
    names: {
      DSTACK_NODE_RANK: RANK,
      DSTACK_NODES_NUM: NODES,
      DSTACK_NODES_IPS: '$JOBCTL_HOST_IPS, with commas in place of new lines',
      DSTACK_MASTER_NODE_IP: '${JOBCTL_COORDINATOR_ADDRESS%:*}',
      DSTACK_GPUS_PER_NODE: GPUS,
      DSTACK_GPUS_NUM: GPUS,
      DSTACK_RUN_NAME: JOB,
    },
  },
  pods: {
    prefix: 'JOB_COMPLETION_',
    names: {
      JOB_COMPLETION_INDEX: '$JOBCTL_HOST_INDEX',
      JOBSET_NAME: JOB,
      JOB_INDEX: '$JOBCTL_SLICE_INDEX',
      TF_CONFIG: 'jobctl sets no such variable',
    },
  },
  xpk: {
    prefix: 'JOBSET_',
    names: {
      JOB_COMPLETION_INDEX: '$JOBCTL_HOST_INDEX',
      JOBSET_NAME: JOB,
      NODE_RANK: '$JOBCTL_HOST_INDEX',
      NNODES: '$JOBCTL_NUM_HOSTS',
      GPUS_PER_NODE: GPUS,
    },
  },
} satisfies Readonly<Record<string, OwnVariables>>;

/** Notes which of a tool's own variables a script reads. */
export function noteVariables(
  into: Translation,
  tool: keyof typeof OWN_VARIABLES,
  ...scripts: readonly unknown[]
): void {
  const { prefix, names }: OwnVariables = OWN_VARIABLES[tool];
  const words = scripts.flatMap((script) => (typeof script === 'string' ? script.split(/\W+/) : []));
  const isOwn = (word: string): boolean =>
    Object.hasOwn(names, word) || (word.startsWith(prefix) && word.length > prefix.length);
  for (const name of new Set(words.filter(isOwn))) into.lose(names[name] ?? 'jobctl sets no such variable', `$${name}`);
}

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

/** The names in pieces that are not text: `$(POD_IP)`, followed by the variable that has its value, if there is one. */
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

/** A part of a text: plain text, a variable of the command with the value of `of`, or a name whose value is not known. */
export type Piece =
  | { readonly text: string }
  | { readonly variable: string; readonly of: string }
  | { readonly open: string };

/** Variables that jobctl sets (docs/kubernetes.md, "PyTorch and JAX"). A value in `env` would replace the right one. */
const OF_LIBRARIES =
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
  /** The container has `envFrom`, which may set any name. Only names in capitals are taken for variables. */
  readonly #mayHaveMore: boolean;

  constructor(container: Mapping) {
    this.#mayHaveMore = listOf(container['envFrom']).length > 0;
    for (const variable of listOf(container['env']).filter(isMapping)) {
      const name = shownOf(variable['name']);
      this.#values.set(name, this.read(shownOf(variable['value'])));
      this.#known.set(name, this.#valueOf(variable));
    }
  }

  /** The value of a variable. It can refer only to variables that the manifest sets before it. */
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

/** The text of pieces that are all plain text, undefined for any other. */
export const plainText = (pieces: readonly Piece[]): string | undefined =>
  pieces.every((piece) => 'text' in piece)
    ? pieces.map((piece) => ('text' in piece ? piece.text : '')).join('')
    : undefined;

/** One word for a shell, which replaces the variables in it by their values. */
export const quotedWord = (pieces: readonly Piece[]): string =>
  `"${pieces
    .map((piece) => {
      if ('text' in piece) return piece.text.replace(/[\\"$`]/g, String.raw`\$&`);
      return 'variable' in piece ? `\${${piece.variable}}` : '';
    })
    .join('')}"`;

import { isSecret, isSecretName } from '../secret-looks.js';
import { OPEN, shownOf, type Translation } from './translation.js';

/** Variables of a command, each with its value; without one it is the submitter's. */
export type Given = readonly (readonly [name: string, value: unknown])[];

const NAME = /^[A-Za-z_]\w*$/;

/** Writes them into `env`. Secrets go by their names alone: messages end up in logs and screenshots. */
export function putVariables(into: Translation, given: Given): void {
  const env: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  for (const [name, value] of given) {
    if (!NAME.test(name)) into.lose('no name of a variable', name);
    else if (isReserved(name)) into.lose('jobctl sets it by itself', name);
    else if (isSecretName(name) && (hasNoValue(value) || value === '')) secrets[name] = secretNameOf(name);
    else if (isSecret(name, shownOf(value))) secrets[name] = secretNameOf(name);
    else env[name] = hasNoValue(value) ? OPEN : shownOf(value);
  }
  if (Object.keys(env).length > 0) into.set('env', env);
  const [first] = Object.values(secrets);
  if (first === undefined) return;
  into.set('secrets', secrets, `each by \`jobctl secret put ${first} --from-file FILE\``);
}

export const secretNameOf = (variable: string): string => variable.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

/** Matches `${{ secrets.x }}` and `${X}` alone, which the other tool fills in. */
const hasNoValue = (value: unknown): boolean =>
  value === null || value === undefined || /^\$\{[^}]*\}\}?$/.test(shownOf(value));
const isReserved = (name: string): boolean => name.startsWith('JOBCTL_') || name.startsWith('MEGASCALE_');

/** Variables that another tool sets, and what jobctl has in their place; of a name with no value here nothing is known. */
export interface OwnVariables {
  /** Beginning of all its variables. */
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

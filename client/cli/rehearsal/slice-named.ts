import { OWN_LABEL_PREFIX } from '../../../domain/identity.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { placeOf } from './admin-answers.js';
import type { RehearsalStatus, RehearsedNode } from './admin-answers.js';

const JOB_LABEL = `${OWN_LABEL_PREFIX}job`;
const LIVE: ReadonlySet<string> = new Set(['CREATING', 'READY']);

/**
 * The resource that `word` means: a node or queued resource by its name, full or its last part, else the live slice of the
 * job of that id. What is neither is handed on as it is: the rehearsal says what there is.
 * @throws CliError for a job with several live slices
 */
export function sliceNamed(word: string, { nodes, queuedResources }: RehearsalStatus): string {
  const isName = (full: string): boolean => full === word || placeOf(full).id === word;
  if ([...nodes, ...queuedResources].some(({ name }) => isName(name))) return word;
  const slices = liveSlicesOf(word, nodes);
  const [only] = slices;
  if (only === undefined) return word;
  if (slices.length === 1) return only;
  throw new CliError(
    ExitCode.Usage,
    `job ${word} has ${slices.length} slices`,
    `say which: ${slices.map((name) => placeOf(name).id).join(', ')}`,
  );
}

/** Full names of a job's nodes that are there for it to use. */
export function liveSlicesOf(job: string, nodes: readonly RehearsedNode[]): readonly string[] {
  return nodes.filter(({ labels, state }) => labels[JOB_LABEL] === job && LIVE.has(state)).map(({ name }) => name);
}

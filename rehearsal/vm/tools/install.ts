import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * What the tools of one VM keep between two calls (packages, units, containers, sentences that were said): part of its
 * disk. A VM without a root of its own names another folder in REHEARSAL_TOOLS_STATE.
 */
export const TOOLS_STATE = '/var/lib/rehearsal';

/** What the tools of a VM speak to. */
export interface ToolPlace {
  /** Of Cloud Storage, such as `http://127.0.0.1:4443`, without a slash at its end. */
  readonly storeUrl: string;
  /** Of Cloud TPU over REST; absent: `gcloud compute tpus` is refused. */
  readonly restUrl?: string | undefined;
  readonly project: string;
  readonly zone: string;
}

/** One tool that was not what it is on a TPU VM, and what it said of itself. */
export interface StandInUse {
  readonly tool: string;
  readonly sentence: string;
}

/**
 * The folder of executables on this computer, absolute: a VM with a root of its own has it at /opt/rehearsal/bin (which the
 * scripts know too), read-only, and first on every PATH.
 */
export function toolsFolder(): string {
  return fileURLToPath(new URL('bin', import.meta.url));
}

/**
 * What every login of the VM needs in its environment. The tools remember it on the VM's disk, so that they also work
 * where a program has cleaned its environment. JOBCTL_REHEARSAL_APT=real, set where the rehearsal runs, is passed on.
 */
export function toolEnvironment(place: ToolPlace): Record<string, string> {
  const apt = process.env['JOBCTL_REHEARSAL_APT'];
  return {
    REHEARSAL_STORE_URL: place.storeUrl,
    ...(place.restUrl !== undefined && { REHEARSAL_REST_URL: place.restUrl }),
    REHEARSAL_PROJECT: place.project,
    REHEARSAL_ZONE: place.zone,
    REHEARSAL_NODE: process.execPath,
    ...(apt !== undefined && { REHEARSAL_APT: apt }),
  };
}

/** Which stand-ins spoke up on a VM, for the journal: each tool once, in the order of their names. @param state TOOLS_STATE as seen from outside. */
export function standInsUsed(state: string): readonly StandInUse[] {
  const folder = join(state, 'said');
  let tools: readonly string[];
  try {
    tools = readdirSync(folder);
  } catch {
    return []; // none was used yet
  }
  return [...tools].sort().map((tool) => ({ tool, sentence: readFileSync(join(folder, tool), 'utf8').trim() }));
}

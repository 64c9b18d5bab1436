import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Folder of what a VM's tools keep between calls (packages, units, containers, announcements). It is part of the VM's disk. A VM
 * without a separate root names another folder in REHEARSAL_TOOLS_STATE.
 */
export const TOOLS_STATE = '/var/lib/rehearsal';

/** The services and the defaults that a VM's tools use. */
export interface ToolPlace {
  /** URL of Cloud Storage, such as `http://127.0.0.1:4443`, without a trailing slash. */
  readonly storeUrl: string;
  /** URL of Cloud TPU over REST; absent: `gcloud compute tpus` is refused. */
  readonly restUrl?: string | undefined;
  readonly project: string;
  readonly zone: string;
}

/** One stand-in for a tool of a TPU VM, and its own sentence about that. */
export interface StandInUse {
  readonly tool: string;
  readonly sentence: string;
}

/**
 * The folder of executables on this computer, absolute. A VM with a separate root has it at /opt/rehearsal/bin (which the scripts
 * know too), read-only, and first on every PATH.
 */
export function toolsFolder(): string {
  return fileURLToPath(new URL('bin', import.meta.url));
}

/**
 * Variables that every login of the VM needs. The tools store them on the VM's disk, so that they also work after a program has
 * cleared its environment. JOBCTL_REHEARSAL_APT=real is passed on if it is set where the rehearsal runs.
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

/**
 * Stand-ins that announced themselves on a VM, for the journal: each tool once, in order of names.
 * @param state TOOLS_STATE as seen from outside
 */
export function standInsUsed(state: string): readonly StandInUse[] {
  const folder = join(state, 'said');
  let tools: readonly string[];
  try {
    tools = readdirSync(folder);
  } catch {
    return []; // no stand-in was used yet
  }
  return [...tools].sort().map((tool) => ({ tool, sentence: readFileSync(join(folder, tool), 'utf8').trim() }));
}

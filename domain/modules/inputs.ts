import { inputsFolder } from '../inputs.js';
import type { FileSource } from '../local-files.js';
import { shellPath } from '../shell-quote.js';
import { VM_TOKEN } from './host-scripts.js';
import { fingerprintOf, type ModulePlan, type PlanSources } from './module.js';
import { LAY_FILES, layingSettings, type StoredContents } from './restore.js';

/** Name of the inputs in the set-up's record and logs: the job file's key for them. */
export const INPUTS = 'inputs';

const LIST = '.jobctl/modules/inputs.list';
/** Folder under the login user's home that collects contents of inputs, each named by its SHA-256. */
export const inputsStage = (job: string): string => `.jobctl/restore/${job}.inputs`;

interface InputsOf {
  readonly job: string;
  /** `worker`: the contents are on the host already. */
  readonly as: string;
  readonly contents: StoredContents;
  /** The files in words: `12 files (3.1 MB)`. */
  readonly what: string;
}

/**
 * Lays the inputs of a job down on a host (docs/adr/0173), readable by everybody and written by nobody. A host that has them
 * from an earlier attempt keeps them.
 * @param list `restoreList` of all entries, below the folder of the inputs
 */
export function inputsPlan(
  { job, as, contents, what }: InputsOf,
  list: FileSource,
  sources: Pick<PlanSources, 'sha256'>,
): ModulePlan {
  const folder = inputsFolder(job);
  const laid = { label: INPUTS, what, done: `${what} are in ${folder}`, stage: inputsStage(job), list: LIST } as const;
  const settings = layingSettings({ ...laid, folder, base: folder, as, contents, rights: 'a+rX' });
  const script = `keeps() { :; }\n${settings}${VM_TOKEN}${LAY_FILES}`;
  const files = [{ path: LIST, content: list, mode: 0o600 }];
  return {
    name: INPUTS,
    fingerprint: fingerprintOf(sources, script, list.sha256),
    check: `[ -d ${shellPath(folder)} ]`,
    steps: [{ name: 'lay down', script, files }],
  };
}

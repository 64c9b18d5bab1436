import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { shellWords } from '../../../domain/shell-quote.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { StackHome } from '../../terminal/home.js';
import { isAlive, type ProcessIdentity } from '../../place/stack/process-identity.js';
import { writePrivate } from '../../terminal/file-on-disk.js';

/** The slice that a `jobctl contract` is about to create. Written before its create call, removed once the slice is gone. */
export interface Leftover {
  readonly googleProject: string;
  readonly zone: string;
  readonly name: string;
  /** UTC. */
  readonly at: string;
  readonly process: ProcessIdentity;
}

const fileIn = ({ root }: Pick<StackHome, 'root'>): string => join(root, 'contract-slice.json');

export const noteSlice = (home: Pick<StackHome, 'root'>, slice: Leftover): void =>
  writePrivate(fileIn(home), `${JSON.stringify(slice)}\n`);

export const forgetSlice = (home: Pick<StackHome, 'root'>): void => rmSync(fileIn(home), { force: true });

/** The slice of a run that was cut short. @throws CliError while that run goes on, or if the file cannot be read */
export function leftoverOf(home: Pick<StackHome, 'root'>): Leftover | undefined {
  const found = readLeftover(fileIn(home));
  if (found === undefined || !isAlive(found.process)) return found;
  throw new CliError(
    ExitCode.Refused,
    `another jobctl contract runs: process ${found.process.pid}, slice ${found.name} in ${found.zone}`,
    'wait for its end; one runs at a time',
  );
}

function readLeftover(file: string): Leftover | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as Leftover;
  } catch {
    throw new CliError(
      ExitCode.Failed,
      `${file}: not what jobctl contract writes; it names a slice that may still be there`,
      "look for one whose name begins with 'jobctl-contract-': gcloud compute tpus queued-resources list --zone=-",
      `then remove the file: rm ${shellWords([file])}`,
    );
  }
}

/** The command by which a person deletes it. */
export function deleteCommand({ googleProject, zone, name }: Omit<Leftover, 'at' | 'process'>): string {
  const words = ['gcloud', 'compute', 'tpus', 'queued-resources', 'delete', name];
  return shellWords([...words, `--zone=${zone}`, `--project=${googleProject}`, '--force', '--quiet']);
}

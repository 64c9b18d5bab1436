import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { JOB_KEY_SECRET } from '../../../cloud/job-keys/open-job-keys.js';
import { newKeyLine } from '../../../cloud/keys/key-line.js';
import { ExitCode } from '../../terminal/cli-error.js';
import { printOut } from '../../terminal/print.js';
import { writeNewKey } from '../../terminal/file-on-disk.js';

export interface SetupJobKeysFlags {
  readonly file?: string;
  readonly id?: string;
}

/** Creates a secret that the keys of jobs are made from. @throws CliError; JobKeySecretError if the id is invalid */
export function setupJobKeys({ file, id }: SetupJobKeysFlags): number {
  writeNewKey(newKeyLine(new Date(), id, JOB_KEY_SECRET), file);
  if (file === undefined) return ExitCode.Done;
  const reference = pathToFileURL(resolve(file)).href;
  printOut(
    `Name it in each worker's configuration and start them again: "ssh": {"formerJobKeySecrets": ["${reference}"]}\n` +
      `When all of them have it, new jobs can use it: "ssh": {"jobKeySecret": "${reference}"}\n`,
  );
  return ExitCode.Done;
}

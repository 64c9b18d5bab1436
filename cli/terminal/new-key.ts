import { fchmodSync, fstatSync } from 'node:fs';
import { CliError } from './cli-error.js';
import { ExitCode } from './exit-codes.js';
import { printErr, printOut } from './print.js';
import { isFull, writeErrorWords, writeNew } from './whole-file.js';

const OWNER_ALONE = 0o600;

/**
 * Writes a new key to stdout, or to a file that only its owner can read. An existing file is never touched.
 * @throws CliError
 */
export function writeNewKey(line: string, file: string | undefined): void {
  if (file === undefined) {
    // `jobctl codec new-key > key`: the shell created the file readable for everybody.
    if (fstatSync(process.stdout.fd).isFile()) fchmodSync(process.stdout.fd, OWNER_ALONE);
    printOut(`${line}\n`);
    return;
  }
  try {
    writeNew(file, `${line}\n`, OWNER_ALONE);
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const why = isThere
      ? 'is there already, and a key that is lost cannot be had back'
      : writeErrorWords(error, file, line.length);
    const code = isThere ? ExitCode.Refused : isFull(error) ? ExitCode.Failed : ExitCode.Usage;
    throw new CliError(code, `${file}: ${why}`, 'name another file');
  }
  printErr(`${file}: key ${line.split(':')[0]}; keep a copy in another place\n`);
}

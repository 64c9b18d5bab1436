import { fchmodSync, fstatSync, writeFileSync } from 'node:fs';
import { fileErrorWords } from '../../domain/error-words.js';
import { CliError } from './cli-error.js';
import { ExitCode } from './exit-codes.js';
import { printErr, printOut } from './print.js';

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
    writeFileSync(file, `${line}\n`, { mode: OWNER_ALONE, flag: 'wx' });
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const why = isThere ? 'is there already, and a key that is lost cannot be had back' : fileErrorWords(error);
    throw new CliError(isThere ? ExitCode.Refused : ExitCode.Usage, `${file}: ${why}`, 'name another file');
  }
  printErr(`${file}: key ${line.split(':')[0]}; keep a copy in another place\n`);
}

#!/usr/bin/env node
import { writeSync } from 'node:fs';
import nodeModule from 'node:module';
import { join } from 'node:path';
import { makeFolderSync } from '../cloud/folders.js';
import { fileErrorWords } from '../domain/errors.js';
import { cacheFolder } from './terminal/home.js';
import { ExitCode } from './terminal/cli-error.js';
import { explainError } from './terminal/explain-error.js';
import { printErr, asTyped } from './terminal/print.js';
import { runProgram } from './program.js';

// Hides Node.js's deprecation warnings, such as the one for a certificate of an IP address.
process.noDeprecation = process.env['JOBCTL_DEBUG'] !== '1';

// From 22.8 on, Node.js caches compiled code for the next start. The cache is in this user's folder: all users share the default
// one.
const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
if (enableCompileCache !== undefined) {
  try {
    const folder = join(cacheFolder(), 'compiled');
    // Created here: below a folder that refuses new folders, such as /proc, Node.js would try for ever.
    makeFolderSync(folder);
    enableCompileCache(folder);
  } catch {
    // Without a cache the next start is as slow as this one.
  }
}

// `jobctl logs JOB | head`: the reader has exited, so nothing is left to do. 128 + SIGPIPE, as other tools exit.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(codeOfLostOutput(error)));

function codeOfLostOutput(error: NodeJS.ErrnoException): number {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') return 141;
  writeSync(2, `jobctl: the output cannot be written: ${fileErrorWords(error)}\n`);
  return ExitCode.Failed;
}

let exitCode: number;
try {
  exitCode = await runProgram(process.argv.slice(2));
} catch (error) {
  const explained = explainError(error, process.env['JOBCTL_DEBUG'] === '1');
  printErr(`${asTyped(explained.text)}\n`);
  ({ exitCode } = explained);
}
// Open handles of a connection must not keep the shell waiting. A failed write is known here before the stream's error event.
process.stdout.write('', (error) => {
  const code = error ? codeOfLostOutput(error) : exitCode;
  process.stderr.write('', () => process.exit(code));
});

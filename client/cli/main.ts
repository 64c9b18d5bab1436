#!/usr/bin/env node
import { writeSync } from 'node:fs';
import nodeModule from 'node:module';
import { join } from 'node:path';
import { fileErrorWords } from '../../domain/error-words.js';
import { cacheFolder } from './dev/home.js';
import { ExitCode } from './exit-codes.js';
import { explainError } from './explain-error.js';
import { printErr } from './print.js';
import { runProgram } from './program.js';
import { asTyped } from './typed-command.js';

// Node.js's own words for programmers, such as those for a certificate of an IP address.
process.noDeprecation = process.env['JOBCTL_DEBUG'] !== '1';

// From 22.8 on, Node.js keeps what it compiled for the next start. In this user's own folder: the usual one is shared by all users.
const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
enableCompileCache?.(join(cacheFolder(), 'compiled'));

// `jobctl logs JOB | head`: the reader has gone, so nothing is left to do. 128 + SIGPIPE, as other tools end.
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
// What a connection leaves open must not hold the shell.
// A write that failed is known here before the stream says so.
process.stdout.write('', (error) => {
  const code = error ? codeOfLostOutput(error) : exitCode;
  process.stderr.write('', () => process.exit(code));
});

#!/usr/bin/env node
import { explainError } from './explain-error.js';
import { runProgram } from './program.js';
import { asTyped } from './typed-command.js';

// `jobctl logs JOB | head`: the reader has gone, so nothing is left to do. 128 + SIGPIPE, as other tools end.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(141);
    throw error;
  });

let exitCode: number;
try {
  exitCode = await runProgram(process.argv.slice(2));
} catch (error) {
  const explained = explainError(error, process.env['JOBCTL_DEBUG'] === '1');
  process.stderr.write(`${asTyped(explained.text)}\n`);
  ({ exitCode } = explained);
}
// What a connection leaves open must not hold the shell.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));

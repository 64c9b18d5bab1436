#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { isUsageError, readArguments, USAGE } from './arguments.js';
import { removeEndpoints, shellLines, writeEndpoints } from './endpoints-file.js';
import type { RehearsalOptions } from './index.js';

const destination = pino.destination(2);
// A log file on a full disk must not end the cloud.
destination.on('error', () => undefined);
process.stderr.on('error', () => undefined);
const log = pino({ name: 'rehearsal' }, destination);

async function main(): Promise<void> {
  const invocation = readArguments(process.argv.slice(2));
  switch (invocation.verb) {
    case 'help':
      return void process.stdout.write(`${USAGE}\n`);
    case 'version':
      return void process.stdout.write(`cloud-tpu-rehearsal ${ownVersion()}\n`);
    case 'env':
      return void process.stdout.write(`${shellLines(invocation.stateDir, invocation)}\n`);
    case 'serve':
      return serve(invocation.options);
  }
}

async function serve(options: RehearsalOptions): Promise<void> {
  // Loaded late: the other verbs do not need it.
  const { startRehearsal } = await import('./index.js');
  const rehearsal = await startRehearsal(options);
  writeEndpoints(options.stateDir, rehearsal.endpoints);
  process.stdout.write(`${JSON.stringify(rehearsal.endpoints)}\n`);
  log.info({ endpoints: rehearsal.endpoints }, 'ready');
  const stop = (signal: string): void => {
    log.info({ signal }, 'stopping: VMs are killed, state is kept');
    removeEndpoints(options.stateDir);
    rehearsal.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** package.json is beside this file in the source, and one folder above it in a build. */
function ownVersion(): string {
  const file = new URL(import.meta.url.endsWith('.ts') ? 'package.json' : '../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

main().catch((error: unknown) => {
  if (isUsageError(error)) {
    process.stderr.write(`cloud-tpu-rehearsal: ${error.message}\n${USAGE}\n`);
    process.exit(2);
  }
  process.stderr.write(`cloud-tpu-rehearsal: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});

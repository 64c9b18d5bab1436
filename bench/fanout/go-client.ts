import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FanoutHost } from './inventory.js';
import { output, type Peer } from './peers.js';
import { checkOutput, type Work } from './work.js';

interface GoAnswer {
  readonly host: string;
  readonly output: string;
  readonly error: string;
}

/** Builds the Go client if its source changed (Go's cache decides). The first build downloads two modules. @returns its path */
export async function buildGoClient(): Promise<string> {
  const folder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'jobctl', 'bench');
  mkdirSync(folder, { recursive: true });
  const program = join(folder, 'fanout-go');
  await output(['go', 'build', '-C', fileURLToPath(new URL('go', import.meta.url)), '-o', program, '.']);
  return program;
}

/** golang.org/x/crypto/ssh, one script over one channel of each host: close to the optimum (docs/facts.md, "Hosts over SSH"). */
export function goClient(program: string, hosts: readonly FanoutHost[], work: Work): Peer {
  return {
    name: 'Go x/crypto/ssh, one script for each host',
    run: async () => {
      const answers = JSON.parse(
        await output([program], { stdin: JSON.stringify({ hosts, script: work.script }) }),
      ) as readonly GoAnswer[];
      for (const { host, output: printed, error } of answers) {
        if (error !== '') throw new Error(`go: ${host}: ${error}`);
        checkOutput('go', host, printed, work);
      }
    },
  };
}

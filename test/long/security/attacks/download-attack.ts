import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Attack } from './attack.js';
import { programOf } from './world.js';

/** Whoever answers in place of Temporal's download, with an archive of their own: by a preloaded `fetch`, in both trees alike. */
const preload = (archive: string): string => `
import { readFileSync } from 'node:fs';
const answers = {
  'temporal.download': () => Response.json({ archiveUrl: 'https://cdn.example/cli.tar.gz', fileToExtract: 'temporal' }),
  'cdn.example': () => new Response(readFileSync(${JSON.stringify(archive)})),
};
globalThis.fetch = async (to) => (answers[new URL(String(to?.url ?? to)).hostname] ?? (() => Response.error()))();
`;

const checksum: Attack = {
  finding: 'F15',
  title: 'a program in place of the Temporal CLI, from whoever answers its download',
  mode: 'trusted',
  async run({ root, scratch }) {
    const folder = scratch();
    const [ran, archive, hook] = ['ran', 'cli.tar.gz', 'preload.mjs'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    mkdirSync(join(folder, 'forged'));
    writeFileSync(join(folder, 'forged/temporal'), `#!/bin/sh\ntouch '${ran}'\nexit 1\n`, { mode: 0o755 });
    execFileSync('tar', ['-czf', archive, '-C', join(folder, 'forged'), 'temporal']);
    writeFileSync(hook, preload(archive));
    const { stdout, stderr } = await programOf(root, ['dev', 'up'], {
      ...{ HOME: folder, JOBCTL_HOME: join(folder, 'home'), XDG_CACHE_HOME: join(folder, 'cache') },
      // Neither a Temporal CLI nor Go to build one.
      ...{ PATH: '/usr/bin:/bin', NODE_OPTIONS: `--import=${hook}` },
    });
    const said = `${stdout}${stderr}`.split('\n').find((line) => /SHA-256/u.test(line)) ?? '';
    return {
      hasSucceeded: existsSync(ran),
      seen: existsSync(ran) ? 'the forged program ran as the user' : `it was not unpacked (${said.trim()})`,
    };
  },
};

export const DOWNLOAD_ATTACKS: readonly Attack[] = [checksum];

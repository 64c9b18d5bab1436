import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { modulePlans } from '../../activities/modules/index.js';
import type { ModulePlan } from '../../cloud/hosts/port.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { applyModule } from './apply-modules.js';
import { withHost } from './session.js';

const MODULES = fileURLToPath(new URL('../../activities/modules/', import.meta.url));
const page = readFileSync(new URL('../../docs/modules.md', import.meta.url), 'utf8');

function block(language: string): string {
  const [, text] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  return text ?? assert.fail(`docs/modules.md has no ${language}`);
}

/** On this computer nobody is asked to swap. */
const TOOLS = `mkdir -p ~/bin
printf '#!/bin/sh\\nexec "$@"\\n' > ~/bin/sudo
printf '#!/bin/sh\\ntouch "$1.on"\\n' > ~/bin/swapon
for tool in swapoff mkswap; do printf '#!/bin/sh\\ntrue\\n' > ~/bin/$tool; done
printf '#!/bin/sh\\ntruncate -s "$2" "$3"\\n' > ~/bin/fallocate
printf '#!/bin/sh\\nfor file; do :; done; [ "$file" = /proc/swaps ] || exec /usr/bin/grep "$@"; [ -e ~/.swapfile.on ]\\n' > ~/bin/grep
chmod +x ~/bin/*; echo 'PATH=$HOME/bin:$PATH' > ~/.bash_profile`;

describe('docs/modules.md', () => {
  it("shows a module of jobctl's that works", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'documented-'));
    try {
      const source = block('ts').replaceAll("'./", `'${MODULES}`).replaceAll("'../../", `'${MODULES}../../`);
      assert.ok(source.split('\n').length < 25, 'the module is no longer short');
      writeFileSync(join(folder, 'swap.mts'), source);
      const { swapModule } = (await import(pathToFileURL(join(folder, 'swap.mts')).href)) as {
        swapModule: (spec: { gigabytes: number }) => ModulePlan;
      };
      await withHost(async ({ connection }) => {
        await applyModule(connection, {
          name: 'tools',
          fingerprint: '1',
          check: '',
          steps: [{ name: 'make', script: TOOLS }],
        });
        const kindOf = async (gigabytes: number): Promise<string> => {
          const { kind, output } = await applyModule(connection, swapModule({ gigabytes }));
          assert.notEqual(kind, 'failed', output);
          return kind;
        };
        assert.deepEqual([await kindOf(1), await kindOf(1), await kindOf(2)], ['done', 'unchanged', 'done']);
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("shows a job file's own module that works", () =>
    withHost(async ({ connection, read }) => {
      const parsed = parseJobFile(block('yaml'), { file: 'job.yaml', env: {} });
      assert.ok(parsed.ok, JSON.stringify(parsed));
      const files = new Map([['profiler.conf', Buffer.from('level=1\n')]]);
      const [plan] = modulePlans(parsed.spec, { files, keys: [] });
      assert.ok(plan);
      const { kind, output } = await applyModule(connection, plan);
      assert.deepEqual([kind, output], ['done', 'traces go to ~/.profiler/traces\n']);
      assert.equal(read('.profiler/profiler.conf'), 'level=1\n');
      assert.equal((await applyModule(connection, plan)).kind, 'unchanged');
    }));
});

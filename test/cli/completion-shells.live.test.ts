import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { shellWords } from '../../domain/shell-quote.js';
import { programArguments } from '../built.js';

describe('completion in other real shells', function () {
  this.timeout(60_000);
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'completion-'));
    const program = shellWords([process.execPath, ...programArguments('cli/main')]);
    writeFileSync(join(folder, 'jobctl'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const ZSH = [
    'autoload -U compinit; compinit -u -D',
    'source <(jobctl completion zsh)',
    // Outside of the line editor these two do not work, so they print what they would offer.
    'compadd() { print -l -- ${(P)2} }; _files() { print FILES }',
    'words=(jobctl quota fr); CURRENT=3; _jobctl; words=(jobctl submit ""); CURRENT=3; _jobctl',
  ].join('\n');
  const FISH =
    'source (jobctl completion fish | psub); complete -C "jobctl quota fr"; complete -C "jobctl submit jobc"';
  const shells: Record<string, { args: string[]; want: string }> = {
    zsh: { args: ['-f', '-c', ZSH], want: 'freeze\nFILES\n' },
    fish: { args: ['--no-config', '-c', FISH], want: 'freeze\njobctl\n' },
  };
  for (const [shell, { args, want }] of Object.entries(shells))
    it(`in ${shell}`, async () => {
      const env = { PATH: `${folder}:${process.env['PATH']}`, HOME: folder, JOBCTL_HOME: '/nonexistent/jobctl' };
      const { stdout } = await promisify(execFile)(shell, args, { env, cwd: folder });
      assert.equal(stdout, want);
    });
});

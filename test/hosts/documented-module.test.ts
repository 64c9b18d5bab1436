import assert from 'node:assert/strict';
import { modulePlans } from '../../activities/module-plans.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { MODULE_NAMES } from '../../domain/modules/registry.js';
import { pageText, quotedWords, tableRows } from '../docs/tables.js';
import { applyModule } from './apply-modules.js';
import { type Answers, block, SourcesWithModule } from './documented-sources.js';
import { type HostSession, withHost } from './session.js';

/** This computer gets no packages: `apt-get` notes their names, and `dpkg-query` reads the notes. */
const TOOLS = `mkdir -p ~/bin && touch ~/installed
printf '#!/bin/sh\\n[ "$1" = -n ] && shift\\nexec "$@"\\n' > ~/bin/sudo
printf '#!/bin/bash\\nwhile [ "$1" != -y ]; do shift; done; shift; printf "%%s\\\\n" "$@" >> ~/installed\\n' > ~/bin/apt-get
printf '#!/bin/bash\\ngrep -qx -e "\${@: -1}" ~/installed && echo -n "install ok installed"\\n' > ~/bin/dpkg-query
chmod +x ~/bin/*; echo 'PATH=$HOME/bin:$PATH' > ~/.bash_profile`;

describe('docs/modules.md', () => {
  it('and docs/job-file.md list every module, in its order', () => {
    const table = tableRows('docs/modules.md', '| module |').flatMap(([cell]) => quotedWords(cell));
    assert.deepEqual([...table, 'command'], MODULE_NAMES);
    const [, row = ''] =
      /^\| `setup\.modules` \| .*? in this order: (.*?), names of/m.exec(pageText('docs/job-file.md')) ?? [];
    assert.deepEqual(quotedWords(row), MODULE_NAMES);
  });

  /** That it compiles: documented-module.live.test.ts. */
  describe("shows a module of jobctl's, with which", function () {
    this.timeout(120_000);
    let sources: SourcesWithModule;
    let answers: Answers;
    before(() => {
      sources = new SourcesWithModule();
      answers = sources.answers();
    });
    after(() => sources.remove());

    it('the job file has its section, in the JSON Schema and in messages', () => {
      assert.match(JSON.stringify(answers.schema), /names of packages, one per line/);
      assert.match(answers.wrongForm, /packages\.lsit.*no such key in packages\n.*did you mean list\?/s);
      assert.match(answers.wrongValue, /packages\.list.* is missing\n +such as list: packages\.txt/);
      assert.match(answers.noSection, /module packages needs a section packages\n +such as packages: \{list:/);
    });

    it('its file is uploaded and asked for, and it runs before the environment', () => {
      const { modules, asTyped, uploads, missing } = answers.first;
      assert.deepEqual(modules, ['packages', 'venv', 'command']);
      assert.deepEqual([asTyped, ...uploads], ['packages.txt', 'packages.txt']);
      assert.deepEqual(missing, [{ path: 'packages.txt', at: ['packages', 'list'], kind: 'text' }]);
    });

    it('a host is set up: by content, and again where the work is gone', () =>
      withHost(async (session) => {
        await applyModule(session.connection, toolsPlan());
        const kindOf = (plan: ModulePlan): Promise<string> => goodKindOf(session, plan);
        const { first, second } = answers;
        assert.deepEqual([await kindOf(first.plan), await kindOf(first.plan)], ['done', 'unchanged']);
        assert.deepEqual([await kindOf(second.plan), session.read('installed')], ['done', 'htop\nhtop\nnumactl\n']);
        await applyModule(session.connection, { ...toolsPlan('rm ~/installed; touch ~/installed'), name: 'removed' });
        assert.deepEqual([await kindOf(second.plan), session.read('installed')], ['done', 'htop\nnumactl\n']);
      }));
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

const toolsPlan = (script = TOOLS): ModulePlan => ({
  name: 'tools',
  fingerprint: '1',
  check: '',
  steps: [{ name: 'make', script }],
});

async function goodKindOf({ connection }: HostSession, plan: ModulePlan): Promise<string> {
  const { kind, output } = await applyModule(connection, plan);
  assert.notEqual(kind, 'failed', output);
  return kind;
}

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { modulePlans } from '../../activities/module-plans.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { applyModule } from './apply-modules.js';
import { type HostSession, withHost } from './session.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(ROOT, 'docs/modules.md'), 'utf8');

function block(language: string): string {
  const [, text] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  return text ?? assert.fail(`docs/modules.md has no ${language}`);
}

/** What jobctl with one more module says and makes of job files: run in a copy of the sources. */
const PROBE = `
import { writeFileSync } from 'node:fs';
import { modulePlans } from './activities/module-plans.js';
import { readJobFile } from './client/cli/job-file.js';
import { resolveJob } from './domain/job-file/resolve.js';
import { jobFileJsonSchema } from './domain/job-file/sections.js';
import { filesNotGiven } from './domain/modules/set-up.js';
import { formatProblems } from './domain/problem.js';

const tpu = { accelerator: 'v5litepod-8', zone: 'us-central1-a' };
const command = { run: 'true' };
const problemsOf = (job: object): string => {
  const resolved = resolveJob({ tpu, command, ...job });
  return resolved.ok ? '' : formatProblems(resolved.problems);
};
const plansOf = async (list: string) => {
  writeFileSync('packages.txt', list);
  writeFileSync('job.yaml', JSON.stringify({ tpu, command, packages: { list: 'packages.txt' }, venv: { name: 'v' } }));
  const { spec, files } = await readJobFile('job.yaml', { set: [] });
  const asTyped: string | undefined = spec.packages?.list;
  const contents = new Map(Object.entries(files).map(([name, bytes]) => [name, Buffer.from(bytes as Uint8Array)]));
  const plans = modulePlans(spec, { files: contents, keys: [] });
  return { modules: spec.modules, asTyped, uploads: Object.keys(files), missing: filesNotGiven(spec, {}), plan: plans[0] };
};
const { properties } = jobFileJsonSchema() as { properties: Record<string, unknown> };
process.stdout.write(JSON.stringify({
  schema: properties['packages'],
  wrongForm: problemsOf({ packages: { lsit: 'x' } }),
  wrongValue: problemsOf({ packages: {} }),
  noSection: problemsOf({ setup: { modules: ['packages'] } }),
  first: await plansOf('htop\\n'),
  second: await plansOf('htop\\nnumactl\\n'),
}));
`;

interface Probed {
  readonly modules: readonly string[];
  readonly asTyped: string;
  readonly uploads: readonly string[];
  readonly missing: readonly unknown[];
  readonly plan: ModulePlan;
}
interface Answers {
  readonly schema: unknown;
  readonly wrongForm: string;
  readonly wrongValue: string;
  readonly noSection: string;
  readonly first: Probed;
  readonly second: Probed;
}

/** A copy of the sources with the module of docs/modules.md: its file, its import and its name in the list, and nothing else. */
class SourcesWithModule {
  readonly folder = mkdtempSync(join(tmpdir(), 'documented-'));

  constructor() {
    for (const part of [...sourceFolders(), 'package.json', 'tsconfig.json'])
      cpSync(join(ROOT, part), join(this.folder, part), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'));
    writeFileSync(join(this.folder, 'domain/modules/packages.ts'), block('ts'));
    const registry = join(this.folder, 'domain/modules/registry.ts');
    const text = readFileSync(registry, 'utf8');
    const listed = text.replace('const MODULES = [', 'const MODULES = [packages, ');
    assert.notEqual(listed, text);
    writeFileSync(registry, `import { packages } from './packages.js';\n${listed}`);
    writeFileSync(join(this.folder, 'probe.ts'), PROBE);
  }

  /** What the compiler says of all that the probe reaches. */
  typeErrors(): string {
    const config = { extends: './tsconfig.json', include: ['probe.ts', 'types'] };
    writeFileSync(join(this.folder, 'tsconfig.probe.json'), JSON.stringify(config));
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.probe.json'], {
      cwd: this.folder,
      encoding: 'utf8',
    });
    return status === 0 ? '' : `status ${status}\n${stdout}`;
  }

  answers(): Answers {
    const out = execFileSync(process.execPath, ['--import', 'tsx', 'probe.ts'], { cwd: this.folder, encoding: 'utf8' });
    // JSON has no Buffer.
    return JSON.parse(out, (_key, value: unknown) => (isBuffer(value) ? Buffer.from(value.data) : value)) as Answers;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

const sourceFolders = (): readonly string[] => {
  const { include } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as { include: string[] };
  return include.filter((folder) => !['test', 'bench', 'scripts'].includes(folder));
};

const isBuffer = (value: unknown): value is { data: number[] } =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value;

/** This computer gets no packages: `apt-get` notes their names, and `dpkg-query` reads the notes. */
const TOOLS = `mkdir -p ~/bin && touch ~/installed
printf '#!/bin/sh\\n[ "$1" = -n ] && shift\\nexec "$@"\\n' > ~/bin/sudo
printf '#!/bin/bash\\nwhile [ "$1" != -y ]; do shift; done; shift; printf "%%s\\\\n" "$@" >> ~/installed\\n' > ~/bin/apt-get
printf '#!/bin/bash\\ngrep -qx -e "\${@: -1}" ~/installed && echo -n "install ok installed"\\n' > ~/bin/dpkg-query
chmod +x ~/bin/*; echo 'PATH=$HOME/bin:$PATH' > ~/.bash_profile`;

describe('docs/modules.md', () => {
  describe("shows a module of jobctl's, with which", function () {
    this.timeout(120_000);
    let sources: SourcesWithModule;
    let answers: Answers;
    before(() => {
      sources = new SourcesWithModule();
      answers = sources.answers();
    });
    after(() => sources.remove());

    it('everything compiles, the field of the job spec too', () => assert.equal(sources.typeErrors(), ''));

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

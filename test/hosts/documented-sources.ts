import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ModulePlan } from '../../domain/modules/module.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(ROOT, 'docs/modules.md'), 'utf8');

export function block(language: string): string {
  const [, text] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  return text ?? assert.fail(`docs/modules.md has no ${language}`);
}

/** What jobctl with one more module says and makes of job files: run in a copy of the sources. */
const PROBE = `
import { writeFileSync } from 'node:fs';
import { modulePlans } from './activities/module-plans.js';
import { readJobFile } from './cli/job/job-file.js';
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
export interface Answers {
  readonly schema: unknown;
  readonly wrongForm: string;
  readonly wrongValue: string;
  readonly noSection: string;
  readonly first: Probed;
  readonly second: Probed;
}

/** A copy of the sources with the module of docs/modules.md: its file, its import and its name in the list, and nothing else. */
export class SourcesWithModule {
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

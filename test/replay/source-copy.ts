import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What a workflow bundle is made of. */
const WORKFLOW_SOURCES = ['workflows', 'contract', 'quota', 'domain', 'types', 'package.json', 'tsconfig.json'];

const OUR_PACKAGES: readonly string[] = ['jobctl', '@jobctl'];

/** Where a text has lines like this. */
export const placesIn = (text: string, anchor: RegExp): readonly RegExpExecArray[] => [
  ...text.matchAll(new RegExp(anchor, 'gm')),
];

/** A copy of the sources, to be changed by a test: another build of the same program. */
export class SourceCopy {
  readonly root = mkdtempSync(join(tmpdir(), 'jobctl-sources-'));

  /** @param more folders beside those of workflow code */
  constructor(more: readonly string[] = []) {
    for (const part of [...WORKFLOW_SOURCES, ...more])
      cpSync(join(ROOT, part), join(this.root, part), { recursive: true });
    const modules = join(this.root, 'node_modules');
    mkdirSync(join(modules, '@jobctl'), { recursive: true });
    // Installed packages are shared; jobctl's own are the copy's.
    for (const name of readdirSync(join(ROOT, 'node_modules')))
      if (!OUR_PACKAGES.includes(name)) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
    symlinkSync(this.root, join(modules, 'jobctl'));
    symlinkSync(join(this.root, 'worker'), join(modules, '@jobctl/worker'));
  }

  /** Puts a line behind the one place that matches. @throws Error if not exactly one does */
  insertAfter(file: string, anchor: RegExp, line: string): void {
    const before = this.#read(file);
    const [found, ...others] = placesIn(before, anchor);
    if (found === undefined || others.length > 0)
      throw new Error(`${file}: ${others.length + (found ? 1 : 0)} places match ${anchor.source}; name another anchor`);
    const end = found.index + found[0].length;
    this.write(file, `${before.slice(0, end)}\n${line}${before.slice(end)}`);
  }

  replace(file: string, what: string, by: string): void {
    const before = this.#read(file);
    if (!before.includes(what)) throw new Error(`${file} has no ${JSON.stringify(what)}`);
    this.write(
      file,
      before.replace(what, () => by),
    );
  }

  /** Of names from @temporalio/workflow, under a name that nothing else has. */
  import(file: string, name: string, from: string): void {
    this.write(file, `import { ${name} as planted_${name} } from '${from}';\n${this.#read(file)}`);
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.root, file), text);
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  #read(file: string): string {
    return readFileSync(join(this.root, file), 'utf8');
  }
}

import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IS_BUILT } from '../../built.js';
import { bundleOf } from '../../replay/bundles.js';
import { SourceCopy } from '../../replay/source-copy.js';

export const CHANGE = 'test-change';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** What `npm run build` makes: the command line's package, and the worker's with the workflow bundles. */
const BUILT = ['dist', 'worker/dist', 'worker/package.json'];
const REGISTERED = `{ '${CHANGE}': { what: 'a timer more', since: '9.9.9', workflows: ['job', 'slice', 'quota'], phase: 'known' } }`;
const TIMER = `if (planted_isChanged('${CHANGE}')) await planted_sleep(1);`;
/** At the beginning of a run and in its middle, so that open workflows meet it too. */
export const CHANGED: readonly (readonly [file: string, anchor: RegExp])[] = [
  ['workflows/job.ts', /^ +const carry = carriedBy\(input\).*;$/],
  ['workflows/job.ts', /^ +outcome = await untilOutcome\(open\);$/],
  ['workflows/slice.ts', /^export async function slice\(.*\{$/],
  ['workflows/slice.ts', /^ +await this\.#delete\(this\.#told \?\? ''\);$/],
  ['workflows/quota.ts', /^export async function quota\(.*\{$/],
  ['workflows/quota.ts', /^ +async turn\(\): Promise<void> \{$/],
];

/** The build after this one: the same program, with one change of workflow code in job, slice and quota. */
export class NextBuild {
  readonly #copy: SourceCopy;

  private constructor(copy: SourceCopy) {
    this.#copy = copy;
  }

  static async make(): Promise<NextBuild> {
    if (!IS_BUILT) throw new Error("dist/ is not of these sources: run 'npm run build' first");
    const copy = new SourceCopy();
    copy.replace('contract/changes.ts', 'const changes = {}', `const changes = ${REGISTERED}`);
    for (const [file, anchor] of CHANGED) copy.insertAfter(file, anchor, TIMER);
    for (const file of new Set(CHANGED.map(([one]) => one))) {
      copy.import(file, 'sleep', '@temporalio/workflow');
      copy.import(file, 'isChanged', './versions.js');
    }
    for (const part of BUILT) cpSync(join(ROOT, part), join(copy.root, part), { recursive: true });
    copy.replace('dist/contract/changes.js', 'const changes = {}', `const changes = ${REGISTERED}`);
    for (const [isEncrypting, file] of [
      [false, 'workflow-bundle.js'],
      [true, 'workflow-bundle-encrypting.js'],
    ] as const) {
      const bundle = await bundleOf(copy.root, isEncrypting);
      writeFileSync(join(copy.root, 'worker/dist', file), bundle.code);
    }
    return new NextBuild(copy);
  }

  get program(): readonly string[] {
    return [join(this.#copy.root, 'dist/cli/main.js')];
  }

  bundle(isEncrypting: boolean): { readonly codePath: string } {
    return {
      codePath: join(
        this.#copy.root,
        'worker/dist',
        isEncrypting ? 'workflow-bundle-encrypting.js' : 'workflow-bundle.js',
      ),
    };
  }

  remove(): void {
    this.#copy.remove();
  }
}

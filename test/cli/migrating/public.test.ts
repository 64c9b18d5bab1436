import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERBS } from '../../../cli/commands/verbs.js';
import { parseDocument } from 'yaml';
import { parseJobFile } from '../../../domain/job-file/parse.js';
import { splitShellWords } from '../../../domain/shell-quote.js';
import { askedSize, formatSlices } from '../../../domain/machines.js';
import { jobctl } from '../command-line.js';
import { verbReached } from '../verb-reached.js';
import { PUBLIC_FILES } from './public-files.js';

const FOLDER = fileURLToPath(new URL('./public/', import.meta.url));
const NAMES = readdirSync(FOLDER).filter((name) => name !== 'SOURCES.md');

const SHOWN_LINE = new RegExp(`(?:\`|: |^ +)jobctl ((?:${VERBS.map(({ name }) => name).join('|')}) [^\`\\n;]*)`, 'gm');

describe('files of other tools, as public repositories have them', function () {
  this.timeout(60_000);
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'public-files-'));
    cpSync(FOLDER, folder, { recursive: true });
  });
  after(() => rmSync(folder, { recursive: true }));

  it('each has its source, and what it gives', () => {
    const sources = readFileSync(join(FOLDER, 'SOURCES.md'), 'utf8');
    for (const name of NAMES) assert.ok(sources.includes(`| \`${name}\` |`), name);
    assert.deepEqual(Object.keys(PUBLIC_FILES).toSorted(), NAMES.toSorted());
    assert.ok(NAMES.length >= 40);
  });

  for (const [name, wanted] of Object.entries(PUBLIC_FILES))
    it(`${name}: ${wanted.is}`, async () => {
      const by = (...verb: readonly string[]): ReturnType<typeof jobctl> =>
        jobctl([...verb, join(folder, name)], { HOME: folder }, folder);
      const { exitCode, stderr } = await by('validate');
      const said = stderr.replaceAll(`${folder}/`, '');
      assert.equal(exitCode, wanted.is === 'accepted' ? 0 : 2, said);
      if (wanted.is !== 'accepted') assert.ok(said.includes(wanted.is), said);
      for (const text of wanted.says ?? []) assert.ok(said.includes(text), `${text}\n\n${said}`);
      await linesAreOfJobctl(said);
      const job = jobOf(said) ?? (exitCode === 0 ? readFileSync(join(folder, name), 'utf8') : undefined);
      assert.deepEqual(job === undefined ? undefined : machinesOf(job, wanted.filled), wanted.machines, said);
      assert.deepEqual(lostOf(said), wanted.lost ?? [], said);
      if (exitCode !== 0) assert.equal((await by('submit')).stderr, stderr);
    });

  /** Whatever line of jobctl is shown, its verb takes it as it stands. */
  async function linesAreOfJobctl(said: string): Promise<void> {
    for (const [, line = ''] of said.matchAll(SHOWN_LINE)) {
      const words = splitShellWords(line) ?? [];
      await verbReached(words).catch(({ message }: Error) => assert.fail(`${line}: ${message}`));
    }
  }
});

/** The job file that a message holds. */
function jobOf(said: string): string | undefined {
  const lines = said.split('\n');
  const from = lines.findIndex((line) => line.trim() === 'in a job file it is:');
  if (from === -1) return undefined;
  const length = lines.slice(from + 1).findIndex((line) => !line.startsWith('    '));
  return lines
    .slice(from + 1)
    .slice(0, length)
    .map((line) => line.slice(4))
    .join('\n');
}

/** What a message says is left out, without its reasons. */
function lostOf(said: string): readonly string[] {
  const lines = said.split('\n');
  const from = lines.findIndex((line) => line.trim() === 'not carried over:');
  if (from === -1) return [];
  const rest = lines.slice(from + 1);
  const length = rest.findIndex((line) => !line.startsWith('    '));
  return rest.slice(0, length).map((line) => line.trim().split(': ')[0] ?? '');
}

/** What the job asks for, when whoever pastes it has filled in what was open. */
function machinesOf(text: string, filled: Readonly<Record<string, string>> = {}): unknown {
  const open = Object.entries({ 'zone: ..': 'zone: us-central2-b', 'image: ..': 'image: some/image', ...filled });
  const whole = open
    .reduce((job, [from, to]) => job.replaceAll(from, to), text)
    .replaceAll(/run: \.\.|install: \.\./g, (found) => found.replace('..', 'hostname'));
  const job = parseJobFile(whole, { file: 'job.yaml', env: {} });
  assert.ok(job.ok, job.ok ? '' : `${JSON.stringify(job.problems)}\n${whole}`);
  const { spec } = job;
  const { chips, hosts } = askedSize(spec);
  const { tpu } = spec as { readonly tpu?: { readonly pricing: string; readonly zones: readonly string[] } };
  const bought = tpu === undefined ? [] : [tpu.pricing, ...tpu.zones];
  return [formatSlices(spec), `${chips} chips`, `${hosts} hosts`, ...bought].join(', ');
}

describe('a file of another tool with a value of another kind', () => {
  const VALUES: readonly unknown[] = [null, 7, [null], { a: [] }];
  it('is still answered', () => {
    let tried = 0;
    for (const name of NAMES.filter((each) => /\.(yaml|json)$/.test(each))) {
      const tree: unknown = parseDocument(
        readFileSync(join(FOLDER, name), 'utf8').split('\n---\n').at(-1) ?? '',
      ).toJS();
      for (const path of pathsOf(tree)) {
        const value = VALUES[tried % VALUES.length];
        const changed = structuredClone(tree);
        put(changed, path, value);
        const job = parseJobFile(JSON.stringify(changed), { file: name, env: {} });
        const said = job.ok ? '' : job.problems.map(({ hint = '' }) => hint).join('\n');
        assert.doesNotMatch(said, /undefined|NaN|\[object/, `${name}: ${path.join('.')}: ${JSON.stringify(value)}`);
        tried++;
      }
    }
    assert.ok(tried > 600, `${tried}`);
  });

  type Path = readonly (string | number)[];
  function pathsOf(tree: unknown, path: Path = []): readonly Path[] {
    if (typeof tree !== 'object' || tree === null) return [path];
    const below = Object.entries(tree).flatMap(([key, value]) =>
      pathsOf(value, [...path, Array.isArray(tree) ? Number(key) : key]),
    );
    return path.length === 0 ? below : [path, ...below];
  }
  function put(tree: unknown, path: Path, value: unknown): void {
    const [key = '', ...rest] = path;
    const section = tree as Record<string | number, unknown>;
    if (rest.length === 0) section[key] = value;
    else put(section[key], rest, value);
  }
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const ADRS = readdirSync(join(ROOT, 'docs/adr'));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Headings, and laws, which are bold at the beginning of a paragraph. */
function namesIn(page: string): readonly string[] {
  return [...read(page).matchAll(/^#+ (.+)$|^\*\*([^*]+?)\.?\*\*/gmu)].map(([, heading, law]) => heading ?? law ?? '');
}

/** Notes that lie beside the repository on its authors' computers. */
const FOREIGN =
  /\bDESIGN\.md\b|\bfindings\/|(?<![\w/.-])facts\/\w|(?<!\/)\b(?:failures|production|temporal|cloud-tpu|predecessors|quota-file|cli-shapes)\.md\b/u;

/** A comment may go on in its next line. */
const joined = (text: string): string => text.replaceAll(/\n\s*(?:\*|\/\/|#)\s*/gu, ' ');

function brokenIn(file: string): readonly string[] {
  const text = joined(read(file));
  const pages = [...text.matchAll(/(?<![\w/])docs\/[\w/-]+\.(?:md|json)\b/gu)].map(([page]) => page);
  const adrs = [...text.matchAll(/\b(?:docs\/adr\/|ADR )(\d{4})\b/gu)].map(([, number]) => number ?? '');
  const named = [...text.matchAll(/\b(docs\/(?:design|facts)\.md), "([^"]+)"/gu)];
  return [
    ...pages.filter((page) => !existsSync(join(ROOT, page))),
    ...adrs.filter((number) => !ADRS.some((name) => name.startsWith(number))).map((number) => `ADR ${number}`),
    ...named
      .filter(([, page = '', name = '']) => !namesIn(page).some((known) => known.startsWith(name)))
      .map(([citation]) => citation),
  ];
}

describe('documents that code cites', () => {
  const files = execFileSync('git', ['ls-files', '*.ts', '*.cjs', '*.py', '*.sh'], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(ROOT, file)));

  it('are in this repository, and so are the laws and facts that they are cited for', () => {
    const broken = files.flatMap((file) => brokenIn(file).map((what) => `${file}: ${what}`));
    assert.deepEqual(broken, []);
  });

  it('are none that only its authors have', () => {
    const foreign = files.filter((file) => FOREIGN.test(joined(read(file))));
    assert.deepEqual(
      foreign.filter((file) => file !== 'test/docs/citations.test.ts'),
      [],
    );
  });

  it('have a number each, and docs/adr/README.md explains every number that no ADR has', () => {
    const numbers = ADRS.map((name) => name.slice(0, 4)).filter((number) => /^\d{4}$/u.test(number));
    const readme = read('docs/adr/README.md');
    const explained = [...readme.matchAll(/\b(\d{4})(?: to (\d{4}))?\b/gu)].flatMap(([, from = '', to = from]) =>
      Array.from({ length: Number(to) - Number(from) + 1 }, (_, at) => Number(from) + at),
    );
    const all = Array.from({ length: Number(numbers.toSorted().at(-1)) }, (_, at) => at + 1);
    assert.ok(all.length > 150, `${all.length}`);
    assert.deepEqual(
      all.filter((number) => numbers.filter((each) => Number(each) === number).length > 1),
      [],
      'two ADRs have one number',
    );
    assert.deepEqual(
      all.filter((number) => numbers.every((each) => Number(each) !== number) && !explained.includes(number)),
      [],
      'missing',
    );
  });
});

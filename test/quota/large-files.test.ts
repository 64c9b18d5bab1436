import assert from 'node:assert/strict';
import { MOST_POOL_FILE, MOST_QUOTA_FILE } from '../../domain/bounds.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';
import { parseQuotaFile } from '../../quota/files/quota-file.js';
import { findProject } from '../../quota/quota-config.js';

const HEAD = '[toml-schema]\nversion = "1"\n';
const UNITS = '[total_resources]\nv5litepod = 64\n';
const lines = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join('');
const members = (count: number, line: (at: number) => string): string =>
  `${HEAD}${UNITS}[project_membership]\n${lines(count, line)}[project_resources]\n`;

/** What one file may cost a server, or a worker: beyond these, projects are multiplied by types by tiers (docs/adr/0095). */
describe('quota files that are large', () => {
  const REFUSED: Record<string, [text: string, why: RegExp]> = {
    'a text that is longer than any': [
      `${HEAD}#${'x'.repeat(MOST_QUOTA_FILE)}`,
      /the file has \d+ characters, and 262144/,
    ],
    projects: [members(2_001, (at) => `p${at} = []\n`), /has 2001 projects, and 2000 are the most/],
    patterns: [members(1, () => `p = [${'"a",'.repeat(10_001)}]\n`), /has 10001 patterns, and 10000 are the most/],
    tiers: [`${HEAD}${lines(21, () => '[[total_resources]]\nv5e = 1\n')}`, /has 21 tiers, and 20 are the most/],
    types: [`${HEAD}[total_resources]\n${lines(101, (at) => `t${at} = 1\n`)}`, /has 101 types, and 100 are the most/],
    'a key of many parts, which both parsers take the square of': [
      `${HEAD}a${'.a'.repeat(50_000)} = 1\n`,
      /a key has more than 60 parts/,
    ],
    'such a key in quotes, inside of a table': [`${HEAD}a = {b${'."a.b"'.repeat(20_000)} = 1}\n`, /more than 60 parts/],
  };
  for (const [what, [text, why]] of Object.entries(REFUSED))
    it(`is refused for ${what}`, () => {
      const read = parseQuotaFile(text, 'q.toml');
      assert.ok(!read.ok);
      assert.match(read.problems.map(({ message }) => message).join('\n'), why);
    });

  it('takes 2,000 projects, and 10,000 members of one', () => {
    const projects = parseQuotaFile(
      members(2_000, (at) => `p${at} = ["user${at}"]\n`),
      'q.toml',
    );
    assert.ok(projects.ok);
    assert.equal(findProject(projects.config, 'P1999')?.members[0], 'user1999');
    const people = parseQuotaFile(
      members(1, () => `p = [${lines(10_000, (at) => `"u${at}@example.org",`)}]\n`),
      'q.toml',
    );
    assert.ok(people.ok);
  });

  it('names the twin of each project that differs by case', () => {
    const read = parseQuotaFile(
      members(3, (at) => `${['Vision', 'text', 'vision'][at]} = []\n`),
      'q.toml',
    );
    assert.ok(!read.ok);
    assert.match(read.problems[0]?.message ?? '', /'vision' and 'Vision' differ by case only/);
  });

  it('a pool file has a most too, and dots in texts are no parts of a key', () => {
    const refused = parsePoolFile(`#${'x'.repeat(MOST_POOL_FILE)}`, 'p.toml', 'default');
    assert.ok(!refused.ok && /the file has \d+ characters/.test(refused.problems[0]?.message ?? ''));
    assert.ok(parsePoolFile(`zones = ["${'a.'.repeat(100)}"]\n`, 'p.toml', 'default') !== undefined);
    const dotted = parseQuotaFile(
      members(1, () => `p = ["${'a.'.repeat(200)}"]\n`),
      'q.toml',
    );
    assert.ok(dotted.ok);
  });
});

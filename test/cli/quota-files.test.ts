import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judgeFiles } from '../../cli/commands/verbs/quota-files.js';
import { refusalOf } from './command-line.js';

const GOOD = readFileSync(new URL('../../examples/quota.toml', import.meta.url), 'utf8');

describe("an operator's files on the command line", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-files-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  function file(name: string, text: string): string {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  }
  async function refused(...args: string[]): Promise<string> {
    const { exitCode, text } = await refusalOf(args);
    assert.equal(exitCode, 2, text);
    return text.replaceAll(`${folder}/`, '');
  }

  it('quota validate says what both files come to, and warns with the place', () => {
    const pool = '[quota]\naging = "2h"\n[[tiers]]\npricing = "spot"\n[borrowing_limits.reserch]\nv5e = 8\n';
    const { notes, lines } = judgeFiles(file('q.toml', GOOD), file('p.toml', pool));
    assert.deepEqual(notes, [
      `warning: ${folder}/p.toml:5:2: reserch: the quota file has no such project (did you mean research?)`,
    ]);
    const said = lines.map((line) => line.trim().replaceAll(/ {2,}/g, ' | '));
    for (const want of [
      'tier 1 | 64 v5litepod | spot',
      'research | 48 v5litepod | .*',
      'aging | 2h 00m',
      'borrowing limits | reserch 8 v5litepod',
    ])
      assert.ok(said.includes(want), `${want} in\n${said.join('\n')}`);
  });
  it('quota validate says at once which gangs of several tiers a share does not always hold', () => {
    const tiers = GOOD.replace(/\[\[total_resources\]\]\nv5litepod = 64[^\n]*\n/, (table) => table + table);
    const essentials = (...files: [string, string?]): readonly string[] =>
      judgeFiles(...files).lines.map((line) => line.trim().replaceAll(/ {2,}/g, ' | '));
    assert.deepEqual(
      essentials(file('tiers.toml', tiers)).filter((line) => line.includes('gang')),
      [
        'quota of all tiers together; a gang lies in one tier:',
        'research | 96 v5litepod | a gang of 48 always has room, one of 64 if others within their quota leave a tier to it, no tier holds more than 64',
        'eval | 32 v5litepod | a gang of 16 always has room, one of 32 if others within their quota leave a tier to it',
      ],
    );
    const pool = '[[tiers]]\npricing = "reserved"\n[[tiers]]\npricing = "spot"\n';
    const firm = `${pool}[lending_limits.eval]\nv5litepod = 0\n`;
    const ofEval = (...files: [string, string?]): readonly string[] =>
      essentials(...files).filter((line) => line.startsWith('eval | 16 v5litepod, jobs that name reserved'));
    assert.deepEqual(ofEval(file('tiers.toml', tiers), file('bought.toml', pool)), [
      'eval | 16 v5litepod, jobs that name reserved | no gang always has room, one of 16 if others within their quota leave a tier to it',
    ]);
    assert.deepEqual(ofEval(file('tiers.toml', tiers), file('firm.toml', firm)), []);
    assert.deepEqual(
      essentials(file('one.toml', GOOD)).filter((line) => line.includes('gang')),
      [],
    );
  });
  for (const verb of [['quota', 'validate'], ['validate']]) {
    it(`${verb.join(' ')} refuses files that do not fit together, with the place`, async () => {
      const [quota, pool] = [file('q.toml', GOOD), file('p.toml', '[[tiers]]\n[[tiers]]\n')];
      assert.match(
        await refused(...verb, quota, '--pool-file', pool),
        /p\.toml:2:3: tiers\[1\]: the quota file has 1 tier/,
      );
    });
  }
  it('quota fmt --write tidies the file, and leaves a wrong one as it is', async () => {
    const untidy = file('untidy.toml', GOOD.replaceAll(' = ', '=').replaceAll('\n\n', '\n'));
    assert.equal((await refusalOf(['quota', 'fmt', untidy, '--write'])).exitCode, 0);
    // What it has no say in: a blank line that was never there.
    assert.equal(readFileSync(untidy, 'utf8').replaceAll('\n\n', '\n'), GOOD.replaceAll('\n\n', '\n'));
    const wrong = file('wrong.toml', 'a=\n');
    assert.match(await refused('quota', 'fmt', wrong, '--write'), /wrong\.toml:1:3: not TOML/);
    assert.equal(readFileSync(wrong, 'utf8'), 'a=\n');
  });
});

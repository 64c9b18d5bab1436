import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PY_SPY_MEMBER, PY_SPY_WHEELS, pySpyFrom, unpacked } from '../../cloud/hosts/stacks/py-spy.js';

/** A wheel, by Python's own zip: `packed` as pip's are, `stored` without compression. */
function wheelOf(folder: string, member: string, content: string): Record<'packed' | 'stored', Buffer> {
  const file = join(folder, member);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  const made = (how: string): Buffer => {
    const program = `import zipfile; z = zipfile.ZipFile('w.whl', 'w', zipfile.${how}); z.writestr('a/METADATA', 'x'); z.write('${member}')\nz.close()`;
    execFileSync('python3', ['-c', program], { cwd: folder });
    return readFileSync(join(folder, 'w.whl'));
  };
  return { packed: made('ZIP_DEFLATED'), stored: made('ZIP_STORED') };
}

describe('the py-spy that hosts are given', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'py-spy-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is the program in the wheel, packed or not', () => {
    const { packed, stored } = wheelOf(folder, PY_SPY_MEMBER, 'a program\n'.repeat(100));
    assert.ok(packed.length < stored.length);
    for (const wheel of [packed, stored]) assert.equal(unpacked(wheel).toString(), 'a program\n'.repeat(100));
  });

  it('of a file that is none, or has another program, there is none', () => {
    const { packed } = wheelOf(folder, 'other/scripts/py-spy', 'x');
    for (const wrong of [packed, packed.subarray(0, 40), Buffer.alloc(0), Buffer.from('no zip')])
      assert.throws(() => unpacked(wrong), /the wheel of py-spy 0\.4\.3 has no /);
  });

  it('is not taken with another hash, nor kept, and asked for again', async () => {
    let asked = 0;
    const other = pySpyFrom(folder, async (url) => {
      assert.equal(url, PY_SPY_WHEELS['x86_64']?.url);
      asked += 1;
      return Buffer.from('odd');
    });
    for (let time = 0; time < 2; time++)
      await assert.rejects(other('x86_64'), /has SHA-256 [0-9a-f]{64}, expected [0-9a-f]{64}: it was not unpacked/);
    assert.equal(asked, 2);
  });

  for (const machine of ['riscv64', 'constructor', ''])
    it(`of '${machine}' nothing is asked for`, () =>
      assert.rejects(
        pySpyFrom(folder, () => assert.fail('it was asked for'))(machine),
        /no py-spy for its processor; jobctl knows x86_64 and aarch64/,
      ));
});

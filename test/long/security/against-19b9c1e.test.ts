import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import type { Attack, Result } from './attacks/attack.js';
import { DOWNLOAD_ATTACKS } from './attacks/download-attack.js';
import { FILE_ATTACKS } from './attacks/file-attacks.js';
import { OLD_COMMIT, oldTree } from './attacks/old-tree.js';
import { PEOPLE_ATTACKS } from './attacks/people-attacks.js';
import { POOL_ATTACKS } from './attacks/pool-attacks.js';
import { PORT_ATTACKS } from './attacks/port-attacks.js';
import { writeTable } from './attacks/table.js';
import { oldWorld, type World, worldOfToday } from './attacks/world.js';

const number = ({ finding }: Attack): number => Number(finding.slice(1));
const ATTACKS = [...POOL_ATTACKS, ...FILE_ATTACKS, ...PORT_ATTACKS, ...PEOPLE_ATTACKS, ...DOWNLOAD_ATTACKS].toSorted(
  (one, other) => number(one) - number(other),
);

/**
 * Of what is no attack on a running jobctl: F14 is attacked in containers (test/long/compose), F16 is what a release carries
 * (test/architecture/audit.live.test.ts, sbom.live.test.ts, github-workflows.test.ts).
 */
const ELSEWHERE = ['F14', 'F16'];

/**
 * Each finding of the security review of 19b9c1e as its attack, with the same steps against the commit of the findings and against this
 * tree: processes, Temporal, HTTP and the bucket, nothing of the code under attack. An attack that fails at the old commit is
 * none. JOBCTL_ATTACK_TABLE=docs/runs.md writes what was seen into its table.
 */
describe(`the findings, attacked at ${OLD_COMMIT} and now`, function () {
  this.timeout(300_000);
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-old-'));
  const seen = new Map<string, { old?: Result; now?: Result }>();
  after(() => rmSync(folder, { recursive: true, force: true }));

  const make = (when: 'old' | 'now', start: () => Promise<World>, hasSucceeded: boolean): void => {
    let world: World;
    before(async function () {
      this.timeout(TEMPORAL_START_MS + 600_000);
      world = await start();
    });
    after(() => world?.stop());
    for (const attack of ATTACKS)
      it(`${attack.finding}: ${attack.title}`, async () => {
        const result = await attack.run(world.of[attack.mode]);
        seen.set(attack.finding, { ...seen.get(attack.finding), [when]: result });
        assert.equal(result.hasSucceeded, hasSucceeded, result.seen);
      });
  };

  describe(`at ${OLD_COMMIT}, where each succeeds`, () =>
    make('old', async () => oldWorld(oldTree(join(folder, 'tree'))), true));
  describe('now, where each fails', () => make('now', worldOfToday, false));

  describe('all of them', () => {
    it('are attacked, by their numbers, and what was seen is kept', () => {
      const all = Array.from({ length: 18 }, (_, index) => `F${index + 1}`);
      const findings = all.filter((finding) => !ELSEWHERE.includes(finding));
      assert.deepEqual(
        ATTACKS.map(({ finding }) => finding),
        findings,
      );
      const file = process.env['JOBCTL_ATTACK_TABLE'];
      if (file !== undefined) writeTable(file, ATTACKS, seen);
    });
  });
});

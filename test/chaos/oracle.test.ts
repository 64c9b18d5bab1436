import assert from 'node:assert/strict';
import { judge } from '../../chaos/oracle/judge.js';
import { tellStory } from '../../chaos/oracle/story.js';
import { parseTold } from '../../chaos/oracle/told.js';
import { COUNTS, totalsOf } from '../../chaos/oracle/verdict.js';
import { PLANTED_OF_GROUPS, RIGHT_OF_GROUPS } from './forged/of-groups.js';
import { PLANTED_OF_MACHINES, RIGHT_OF_MACHINES } from './forged/of-machines.js';
import { PLANTED_OF_PODS, RIGHT_OF_PODS } from './forged/of-pods.js';
import { PLANTED_OF_VMS, RIGHT_OF_VMS } from './forged/of-vms.js';
import { PLANTED } from './forged/planted.js';
import { RIGHT } from './forged/right.js';
import { RecordSet } from './record-set.js';

const ALL_PLANTED = { ...PLANTED, ...PLANTED_OF_PODS, ...PLANTED_OF_VMS, ...PLANTED_OF_MACHINES, ...PLANTED_OF_GROUPS };
const ALL_RIGHT = { ...RIGHT, ...RIGHT_OF_PODS, ...RIGHT_OF_VMS, ...RIGHT_OF_MACHINES, ...RIGHT_OF_GROUPS };

describe('the oracle of chaos', () => {
  for (const [what, [count, forge]] of Object.entries(ALL_PLANTED))
    it(`counts ${what} once: ${count}`, () => {
      const records = new RecordSet();
      forge(records);
      const findings = judge(records.evidence());
      assert.deepEqual(totalsOf(findings), { ...totalsOf([]), [count]: 1 }, JSON.stringify(findings, null, 2));
      assert.match(tellStory(records.evidence(), findings)[0] as string, new RegExp(`^${count.toUpperCase()}: `, 'u'));
    });

  it('has a planted fault for each count', () => {
    const planted = new Set(Object.values(ALL_PLANTED).map(([count]) => count));
    assert.deepEqual(
      [...COUNTS].filter((count) => !planted.has(count)),
      [],
    );
  });

  for (const [what, forge] of Object.entries(ALL_RIGHT))
    it(`counts nothing for ${what}`, () => {
      const records = new RecordSet();
      forge(records);
      assert.deepEqual(judge(records.evidence()), []);
    });

  it('reads what a command told, and no half of it', () => {
    const line = '1795310000123456\tjob\t2\t1\t3\tp.1\t7\tLINE\tL a\tb';
    assert.deepEqual(parseTold(line), {
      ...{ at: 1_795_310_000_123, job: 'job', attempt: 2, slice: 1, host: 3, process: 'p.1', number: 7 },
      ...{ kind: 'LINE', text: 'L a\tb' },
    });
    for (const broken of ['', line.slice(0, 30), line.replace('LINE', 'OTHER'), line.replace('\t2\t', '\tx\t')])
      assert.equal(parseTold(broken), undefined, broken);
  });
});

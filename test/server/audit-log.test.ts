import assert from 'node:assert/strict';
import type { StoredObject, StorePort } from '../../cloud/store/port.js';
import type { AuditLine } from '../../contract/api/callers.js';
import { auditObject } from '../../domain/store-layout.js';
import { AuditLog } from '../../server/audit/audit-log.js';

const T0 = Date.UTC(2026, 10, 26, 12);
const line = (more: Partial<AuditLine>): AuditLine => ({
  ...{ at: T0, requestId: 'r', replica: '', subject: 'mallory', kind: 'user', from: '::1', verb: 'objects' },
  ...{ pool: 'default', decision: 'refused', ...more },
});

/** Its names are in order: they are put in that way. */
class Lines {
  readonly objects = new Map<string, string>();
  mostListed = 0;
  reads = 0;
  store: Pick<StorePort, 'write' | 'list' | 'read'> = {
    write: async (name, content) => {
      this.objects.set(name, String(content));
      return { kind: 'written', generation: '1' };
    },
    list: async (_prefix, start = '', most = Infinity) => {
      const found: StoredObject[] = [];
      for (const name of this.objects.keys()) {
        if (name >= start) found.push({ name, size: 1, generation: '1', updatedAt: 0 });
        if (found.length === most) break;
      }
      this.mostListed = Math.max(this.mostListed, found.length);
      return found;
    },
    read: async (name) => {
      this.reads += 1;
      return Buffer.from(this.objects.get(name) ?? '');
    },
  };
}

const QUERY = { since: T0 - 86_400_000, until: T0 + 86_400_000, limit: 10_000, matches: () => true };

describe('an audit log that somebody wants to bury something in', () => {
  it('has a line of each of the first refusals of a subject in a minute, and one that counts the others of a pool', async () => {
    const kept = new Lines();
    const log = new AuditLog(kept.store);
    const calls = Array.from({ length: 1_200 }, (_, index) =>
      line({ why: `no object ${index}`, pool: index % 2 === 0 ? 'default' : 'other', job: `made-up-${index}` }),
    );
    await Promise.all(calls.map((each) => log.write(each)));
    // Whoever else is refused, and what is allowed, has its lines.
    await log.write(line({ subject: 'zoe', why: 'hers' }));
    await Promise.all(Array.from({ length: 200 }, () => log.write(line({ decision: 'allowed', as: 'owner' }))));
    await log.close();
    const { lines, readFrom } = await new AuditLog(kept.store).read(QUERY);
    const ofMallory = lines.filter(({ subject, decision }) => subject === 'mallory' && decision === 'refused');
    assert.equal(readFrom, undefined);
    assert.deepEqual([ofMallory.length, lines.length], [102, 303]);
    assert.deepEqual(
      ofMallory.slice(-2).map(({ pool, job, why }) => [pool, job, why]),
      [
        ['default', 'made-up-1198', 'no object 1198 (the last of 550 refusals in a minute that have this line alone)'],
        ['other', 'made-up-1199', 'no object 1199 (the last of 550 refusals in a minute that have this line alone)'],
      ],
    );
  });

  it('names of pools that are made up have no line each', async () => {
    const kept = new Lines();
    const log = new AuditLog(kept.store);
    await Promise.all(Array.from({ length: 1_200 }, (_, index) => log.write(line({ pool: `pool-${index}` }))));
    await log.close();
    assert.equal((await log.read(QUERY)).lines.length, 120);
  });

  it('is read from its end, a bounded part of it, and says so', async () => {
    const kept = new Lines();
    for (let index = 0; index < 100_000; index++) {
      const at = T0 + index * 500;
      kept.objects.set(auditObject(at, 'aa', index), `${JSON.stringify(line({ at, requestId: `${index}` }))}\n`);
    }
    const of = (limit: number, matches: (line: AuditLine) => boolean) =>
      new AuditLog(kept.store).read({ since: T0, until: T0 + 50_000_000, limit, matches });
    const none = await of(10, () => false);
    assert.deepEqual(none.lines, []);
    assert.ok(none.readFrom !== undefined && none.readFrom > T0);
    assert.ok(kept.mostListed <= 20_001 && kept.reads <= 20_000, `${kept.mostListed} listed, ${kept.reads} read`);
    const last = await of(2, () => true);
    assert.deepEqual([last.lines.map(({ requestId }) => requestId), last.readFrom], [['99998', '99999'], undefined]);
  });
});

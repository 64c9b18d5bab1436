import assert from 'node:assert/strict';
import type { LeaseStory } from '../../quota/pool-history.js';
import { accountOf, slicesIn } from './bill.js';
import type { CloudEvent } from './rehearsal-admin.js';

const NODE = 'node-state';
const REQUEST = 'queued-resource-state';
let seq = 0;
const event = (at: number, kind: string, name: string, to: string, chips = 8): CloudEvent => ({
  ...{ seq: ++seq, at, kind, subject: `projects/p/locations/z/${kind}/${name}` },
  details: { to, chips },
});
/** One slice that waits for 10 s and is charged for 30. */
const life = (name: string, from: number, chips = 8): readonly CloudEvent[] => [
  event(from, REQUEST, name, 'ACCEPTED', chips),
  event(from + 9_000, NODE, name, 'CREATING', chips),
  event(from + 10_000, NODE, name, 'READY', chips),
  event(from + 38_000, NODE, name, 'DELETING', chips),
  event(from + 40_000, NODE, name, 'gone', chips),
  event(from + 40_500, REQUEST, name, 'gone', chips),
];
const lease = (grantedAt: number, freedAt: number, number = 1): LeaseStory => ({
  ...{ job: 'j', lease: number, project: 'a', user: 'u', tier: 0, units: { v5litepod: 8 } },
  ...{ heldMs: 0, grantedAt, freedAt },
});
const account = (events: readonly CloudEvent[], ...stories: readonly LeaseStory[]) =>
  accountOf(slicesIn(events), stories, (name) => name.split('-')[0] ?? '');

describe('the account of what a pool counted and a cloud charged', () => {
  it('closes: a lease is the sum of its times before, waiting, charged, between and unseen', () => {
    const { sums, counted, problems } = account(
      [...life('j-1', 1_000), ...life('j-2', 6_000), ...life('j-3', 60_000)],
      lease(0, 102_000),
      lease(200_000, 203_000, 2),
    );
    assert.deepEqual(problems, []);
    assert.deepEqual(sums, {
      ...{
        before: 8 + 24,
        waiting: 8 * (10 + 0.5 + 10 + 0.5),
        billed: 8 * (35 + 30),
        between: 8 * 13.5,
        unseen: 8 * 1.5,
      },
      billedTwice: 8 * 25,
    });
    assert.equal(counted, 8 * 105);
  });

  const FAULTS: Record<string, [CloudEvent[], LeaseStory[], RegExp]> = {
    'a slice that was asked for before its grant': [
      [...life('j-1', 1_000)],
      [lease(2_000, 50_000)],
      /j-1 .*: asked for 1000 ms before the grant/,
    ],
    'a slice that outlived its lease': [
      [...life('j-1', 1_000)],
      [lease(0, 41_000)],
      /j-1 .*: there for 500 ms after the return/,
    ],
    'a slice of no lease': [[...life('j-1', 1_000)], [lease(100_000, 101_000)], /j-1: in 0 leases/],
    'a slice of another job': [[...life('k-1', 1_000)], [lease(0, 50_000)], /k-1: in 0 leases/],
    'a slice over two leases': [
      [...life('j-1', 1_000)],
      [lease(0, 30_000), lease(30_000, 50_000, 2)],
      /j-1: in 2 leases/,
    ],
    'other chips than were counted': [[...life('j-1', 1_000, 16)], [lease(0, 50_000)], /j-1 .*: 16 chips, not 8/],
  };
  for (const [name, [events, stories, want]] of Object.entries(FAULTS))
    it(`names ${name}`, () => assert.match(account(events, ...stories).problems.join('\n'), want));

  it('is not made while a slice is there', () => {
    assert.throws(() => slicesIn(life('j-1', 0).slice(0, 4)), /still there: .*j-1/);
  });
});

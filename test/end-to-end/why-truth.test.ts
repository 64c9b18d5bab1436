import assert from 'node:assert/strict';
import type { CloudEvent } from './rehearsal-admin.js';
import { cloudNow, untrueSentences } from './why-truth.js';

const [A, B, C] = ['us-central1-a', 'us-west4-a', 'us-south1-a'];
const event = (kind: string, zone: string, name: string, details: CloudEvent['details']): CloudEvent => ({
  ...{ seq: 0, at: 0, kind, subject: `projects/p/locations/${zone}/x/${name}` },
  details,
});
const EVENTS = [
  event('node-state', A, 'jc-other-g1', { to: 'READY' }),
  event('api-call', A, 'jc-j-g1', { method: 'CreateQueuedResource', code: 'OK' }),
  event('queued-resource-state', A, 'jc-j-g1', { to: 'ACCEPTED' }),
  event('queued-resource-state', A, 'jc-j-g1', { to: 'WAITING_FOR_RESOURCES' }),
  event('api-call', B, 'jc-j-g2', { method: 'CreateNode', code: 'RESOURCE_EXHAUSTED', message: 'no more capacity' }),
];
const HEAD = 'REHEARSAL: not on real Cloud TPUs.';

describe("what a sentence of `jobctl why` is worth, by the cloud's own word", () => {
  const cloud = cloudNow(EVENTS, 'j');
  const lies: Record<string, string> = {
    'another zone than the one that is asked': `j is provisioning, for 3s: 1 x v5litepod-8 in ${C}. ${HEAD}`,
    'a request that is not there': `  jc-j-g9 in ${A}: starting, Google has queued it (WAITING_FOR_RESOURCES), for 3s`,
    'another state of it': `  jc-j-g1 in ${A}: starting, Google makes its nodes (PROVISIONING), for 3s`,
    'another zone of it': `  jc-j-g1 in ${B}: starting, Google has queued it (WAITING_FOR_RESOURCES), for 3s`,
    'a zone that is not asked': `  jc-j-g3 in ${C}: starting, asking ${C}, for 3s`,
    'words that nobody said': `  jc-j-g2 in ${B}: starting, Quota exceeded, for 3s`,
    'a zone as the next one that is asked already': `If nothing comes before, ${A} is asked at 10:40, in 3s.`,
    'the same in the reason': `j is provisioning, for 3s: 1 x v5litepod-8 in ${A}; if nothing comes before, ${A} is asked at 2026-11-29 10:40:00 UTC. ${HEAD}`,
    'a zone that gave nothing': `Seen by this pool's jobs: ${B} gave a v5litepod-8 (spot) within 3s, 5s ago.`,
    'a refusal that never was': `Seen by this pool's jobs: ${A} gave a v5litepod-8 (spot) within 3s, 5s ago, and has refused one since.`,
    'a refusal of a zone that refused nothing': `  ${A} refused 3s ago (zone): no more capacity`,
    'a zone as asked again that is not': `  ${B} refused 3s ago (zone), and is asked again: no more capacity`,
    'other words than those of a refusal': `  ${B} refused 3s ago (zone): quota exceeded`,
    'such words beside what it asks for': `j is provisioning, for 3s: 1 x v5litepod-8 in ${A}; ${B} refused: quota exceeded. ${HEAD}`,
    'another zone where several are asked':
      'For chips elsewhere: another zone in tpu.zones, pricing ondemand or flex-start; that takes another job.',
    'anything else': 'All is well.',
  };
  for (const [name, line] of Object.entries(lies))
    it(`${name}: untrue`, () => assert.deepEqual(untrueSentences(line, cloud, true), [line]));

  it('what is so', () => {
    const lines = [
      `j is provisioning, attempt 1, for 3s: 1 x v5litepod-8 in ${A}. ${HEAD}`,
      `  jc-j-g1 in ${A}: starting, Google has queued it (WAITING_FOR_RESOURCES), for 3s`,
      `  jc-j-g2 in ${B}: starting, no more capacity; asked again in 4s`,
      `If nothing comes before, ${C} is asked at 10:40, in 3s.`,
      `If nothing comes before, ${C} is asked at Nov 29 10:40, in 1d 3h.`,
      `  ${B} refused 3s ago (zone): no more capacity`,
      `  ${B} refused 3s ago (zone), and is asked again at 10:40, in 3m 20s: no more capacity`,
      `  ${B} refused 3s ago (zone), and is asked again now: no more capacity`,
      `  ${B} refused 3s ago (zone), and has its next turn after ${C}: no more capacity`,
      `j is provisioning, for 3s: 1 x v5litepod-8 in ${A}; ${B} refused: no more cap. ${HEAD}`,
      `j is provisioning, for 3s: 1 x v5litepod-8 in ${A}; ${B} refused: no more cap; if nothing comes before, ${C} is asked at 2026-11-29 10:40:00 UTC. ${HEAD}`,
      `Seen by this pool's jobs: ${A} gave a v5litepod-8 (spot) within 3s, 5s ago.`,
      'Google keeps the request in line until the zone has unused spot chips, and names neither its place nor a time.',
      'The zone refuses the request while it has no unused spot chips, and keeps no place in a line: the job asks again.',
      'For chips elsewhere: pricing ondemand or flex-start; that takes another job.',
    ];
    assert.deepEqual(untrueSentences(lines.join('\n'), cloud, true), []);
  });

  it('what was so a moment ago is true where a moment is allowed', () => {
    const line = `  jc-j-g1 in ${A}: starting, Google has accepted it (ACCEPTED), for 3s`;
    assert.deepEqual(untrueSentences(line, cloud, true), [line]);
    assert.deepEqual(untrueSentences(line, cloud, false), []);
  });
});

import assert from 'node:assert/strict';
import {
  type AskOutcome,
  boundedPlaces,
  capacityRows,
  MOST_OUTCOMES,
  MOST_PLACES,
  newPlace,
  type OpenAsk,
  orderedZones,
  type SeenPlace,
  withHeld,
  withOutcome,
  withRefusal,
} from '../../quota/seen-capacity.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = 1_790_000_000_000;
const ASKED = { accelerator: 'v6e-8', pricing: 'spot' } as const;
const ZONES = ['us-east1-d', 'us-east5-a', 'europe-west4-a'];

const got = (waitedMs: number, at = NOW, by = 'a'): AskOutcome => ({ kind: 'got', waitedMs, at, by });
const left = (waitedMs: number, at = NOW, by = 'a'): AskOutcome => ({ kind: 'left', waitedMs, at, by });
const refused = (at = NOW, by = 'a'): AskOutcome => ({ kind: 'refused', waitedMs: 0, at, by });
const denied = (at = NOW, by = 'a'): AskOutcome => ({ kind: 'denied', waitedMs: 0, at, by });
const place = (zone: string, ...outcomes: readonly AskOutcome[]): SeenPlace =>
  outcomes.reduce(withOutcome, newPlace({ ...ASKED, zone }, 0));
const waiting = (zone: string, sinceMs: number): OpenAsk => ({ ...ASKED, zone, since: NOW - sinceMs, slices: 1 });
const order = (
  places: readonly SeenPlace[],
  { open = [], now = NOW }: { open?: readonly OpenAsk[]; now?: number } = {},
) => orderedZones(ZONES, ASKED, { places, open }, now);

describe('the order of zones by what a pool has seen', () => {
  const cases: Record<string, { readonly places: SeenPlace[]; readonly open?: OpenAsk[]; readonly want: string[] }> = {
    'nothing seen: as they are given': { places: [], want: ZONES },
    'a zone that gave chips at once comes first': {
      places: [place('europe-west4-a', got(10_000))],
      want: ['europe-west4-a', 'us-east1-d', 'us-east5-a'],
    },
    'a zone in which jobs waited in vain comes last': {
      places: [place('us-east1-d', left(HOUR))],
      want: ['us-east5-a', 'europe-west4-a', 'us-east1-d'],
    },
    'and so does one that refuses at once': {
      places: [place('us-east1-d', refused())],
      want: ['us-east5-a', 'europe-west4-a', 'us-east1-d'],
    },
    'one that refuses for a reason that says nothing of its chips stays where it is': {
      places: [place('us-east1-d', denied())],
      want: ZONES,
    },
    'and takes nothing back of what the same job saw before': {
      places: [place('us-east1-d', refused(), denied())],
      want: ['us-east5-a', 'europe-west4-a', 'us-east1-d'],
    },
    'and one in which a job waits now': {
      places: [],
      open: [waiting('us-east1-d', HOUR)],
      want: ['us-east5-a', 'europe-west4-a', 'us-east1-d'],
    },
    'of two that give chips the one that takes them away comes later': {
      places: [
        withHeld(place('us-east1-d', got(MINUTE)), HOUR, true, NOW),
        withHeld(place('us-east5-a', got(MINUTE)), 48 * HOUR, true, NOW),
      ],
      want: ['us-east5-a', 'europe-west4-a', 'us-east1-d'],
    },
    'waits that are about as long leave the order as it is given': {
      places: [place('us-east1-d', got(70_000)), place('us-east5-a', got(60_000))],
      want: ZONES,
    },
    'what was seen of another type says nothing': {
      places: [{ ...place('us-east1-d', left(HOUR)), accelerator: 'v6e-256' }],
      want: ZONES,
    },
    'nor of another pricing': { places: [{ ...place('us-east1-d', left(HOUR)), pricing: 'ondemand' }], want: ZONES },
  };
  for (const [name, { places, open = [], want }] of Object.entries(cases))
    it(name, () => assert.deepEqual(order(places, { open }), want));

  it('comes back to the given one as what was seen gets old, so that no zone stays last for ever', () => {
    const places = [place('us-east1-d', ...Array.from({ length: 30 }, (_, at) => left(2 * HOUR, NOW, `job ${at}`)))];
    assert.deepEqual(order(places), ['us-east5-a', 'europe-west4-a', 'us-east1-d']);
    assert.deepEqual(order(places, { now: NOW + 2 * DAY }), ZONES);
  });

  it('is the same whatever the order in which places were learned', () => {
    const places = [
      place('us-east1-d', left(HOUR)),
      place('us-east5-a', got(MINUTE)),
      place('europe-west4-a', refused()),
    ];
    assert.deepEqual(order(places), order(places.toReversed()));
  });

  it('is not one job’s to decide: what it asked for in vain a thousand times is one outcome', () => {
    const others = Array.from({ length: 6 }, (_, at) => got(MINUTE, NOW - MINUTE, `other ${at}`));
    let seen = place('us-east1-d', ...others);
    for (let at = 0; at < 1_000; at++)
      seen = withOutcome(seen, at % 2 === 0 ? refused(NOW, 'one') : left(HOUR, NOW, 'one'));
    assert.equal(seen.outcomes.filter(({ by }) => by === 'one').length, 1);
    assert.equal(seen.outcomes.filter(({ kind }) => kind === 'got').length, others.length);
    const [outcome] = seen.outcomes.filter(({ by }) => by === 'one');
    assert.equal(outcome?.waitedMs, 2 * HOUR, 'bounded, however long it waited in all');
  });
});

describe('what a pool keeps of what it saw', () => {
  it('is bounded for each place, and in the number of places', () => {
    const full = place('us-east1-d', ...Array.from({ length: 100 }, (_, at) => got(MINUTE, NOW + at, `job ${at}`)));
    assert.equal(full.outcomes.length, MOST_OUTCOMES);
    assert.equal(full.outcomes.at(-1)?.by, 'job 99');
    const many = Array.from({ length: MOST_PLACES + 50 }, (_, at) => ({ ...full, zone: `zone-x${at}-a`, seenAt: at }));
    const bounded = boundedPlaces(many);
    assert.equal(bounded.length, MOST_PLACES);
    assert.ok(
      bounded.every(({ seenAt }) => seenAt >= 50),
      'the oldest made room',
    );
  });

  it('keeps what has an outcome before what was only asked', () => {
    const asked = Array.from({ length: MOST_PLACES }, (_, at) => newPlace({ ...ASKED, zone: `zone-x${at}-a` }, NOW));
    const bounded = boundedPlaces([...asked, place('us-east1-d', got(MINUTE, NOW - DAY))]);
    assert.ok(bounded.some(({ zone }) => zone === 'us-east1-d'));
  });
});

describe('the rows of jobctl capacity', () => {
  it('count what was asked and got, with the median wait, and what waits now', () => {
    const seen = withRefusal(
      place(
        'us-east1-d',
        got(MINUTE, NOW - HOUR),
        got(3 * MINUTE, NOW - HOUR, 'b'),
        got(9 * MINUTE, NOW - HOUR, 'c'),
        left(HOUR),
      ),
      'no more capacity',
      NOW - 2 * HOUR,
    );
    const open = [waiting('us-east1-d', 5 * MINUTE), waiting('us-east1-d', 20 * MINUTE)];
    const [row, ...others] = capacityRows({ places: [seen], open }, NOW);
    assert.deepEqual(others, []);
    assert.deepEqual(row, {
      zone: 'us-east1-d',
      ...ASKED,
      asked: 6,
      got: 3,
      medianWaitMs: 3 * MINUTE,
      lastGot: { at: NOW - HOUR, waitedMs: 9 * MINUTE },
      waiting: 2,
      waitingSince: NOW - 20 * MINUTE,
      sliceHours: 0,
      preempted: 0,
      refusal: { at: NOW - 2 * HOUR, text: 'no more capacity' },
      seenAt: NOW - 5 * MINUTE,
    });
  });

  it('have the mean of two middle waits as their median, and none without chips', () => {
    const waits = [1_000, 385_000, 60_000, 2_000_000];
    const medians = [0, 1, 2, 3, 4].map((count) => {
      const outcomes = waits.slice(0, count).map((ms, at) => got(ms, NOW, `job ${at}`));
      return capacityRows({ places: [place('us-east1-d', ...outcomes)], open: [] }, NOW)[0]?.medianWaitMs;
    });
    assert.deepEqual(medians, [undefined, 1_000, 193_000, 60_000, 222_500]);
  });

  it('count what was refused for a reason that says nothing of chips, once a job', () => {
    const seen = place('us-east1-d', denied(), denied(), denied(NOW, 'b'), denied(NOW, 'c'));
    const [row] = capacityRows({ places: [seen], open: [] }, NOW);
    assert.deepEqual([row?.asked, row?.got], [3, 0]);
  });

  it('count slice-hours of gangs that hold chips now, and halve them every day', () => {
    const seen = withHeld(newPlace({ ...ASKED, zone: 'us-east1-d' }, NOW - DAY), 10 * HOUR, true, NOW - DAY);
    const holds: OpenAsk = { ...waiting('us-east1-d', 3 * HOUR), heldSince: NOW - 2 * HOUR, slices: 4 };
    const [row] = capacityRows({ places: [seen], open: [holds] }, NOW);
    assert.equal(row?.sliceHours, 5 + 8);
    assert.equal(row.preempted, 0.5);
    assert.equal(row.waiting, 0);
  });

  it('forget outcomes after a week', () => {
    const [row] = capacityRows({ places: [place('us-east1-d', got(MINUTE, NOW - 8 * DAY))], open: [] }, NOW);
    assert.equal(row?.asked, 0);
    assert.equal(row.medianWaitMs, undefined);
  });
});

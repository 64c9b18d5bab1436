import assert from 'node:assert/strict';
import { REFUSAL_SCOPES, type RefusalScope } from '../../domain/slice.js';
import { askingOf, renderWhy } from '../../cli/terminal/render/why.js';
import { MOST_CLOUD_TEXT } from '../../cloud/machines/bounded-texts.js';
import { row } from '../cli/rows.js';
import { type Answers, refused, START, WaitingJob } from './waiting-job.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const A = 'us-east1-d';
const B = 'europe-west4-a';
const clock = (ms: number): string => new Date(START + ms).toISOString().slice(0, 19).replace('T', ' ');

async function shown(job: WaitingJob, ms: number): Promise<string> {
  await job.until(ms);
  const view = await job.view();
  const { phase, phaseSince, why = '', waitsUntil } = view;
  const shown = row({ phase, phaseSince, why, attempts: 0, ...(waitsUntil !== undefined && { waitsUntil }) });
  return renderWhy(shown, view, START + ms).join('\n');
}

describe('the outcome of timeouts.queue', function () {
  this.timeout(60_000);
  for (const scope of REFUSAL_SCOPES.filter((each) => each !== 'request'))
    it(`has what each zone said last (${scope}), and the time that was waited`, async () => {
      const job = await WaitingJob.submit(
        { zones: [A, B], timeouts: { queue: '90s' } },
        { create: (zone, nth) => refused(scope, `answer ${nth > 2 ? 'n' : nth} of ${zone} ${'x'.repeat(9_000)}`) },
      );
      await job.until(3 * MINUTE);
      const { message = '' } = job.outcome.cause ?? {};
      assert.match(message, /^its zones gave no chips for 90 s \(timeouts\.queue\): /);
      const isRight = scope === 'permission' || scope === 'installation';
      assert.match(message, new RegExp(`${A} refused${isRight ? ', a right is missing' : ''}: answer \\w of ${A}`));
      assert.ok(message.includes(`answer`) && message.length < 600, message);
    });

  it('claims no refusal where the provider lets the request wait, and has its last words', async () => {
    const job = await WaitingJob.submit({ zones: [A], timeouts: { queue: '25s' } }, {});
    await job.until(MINUTE);
    assert.equal(job.outcome.cause?.message, `its zones gave no chips for 25 s (timeouts.queue): ${A}: asking ${A}`);
  });

  it('names a zone that had no turn, as timeouts.provision wants it, before those that said something', async () => {
    const job = await WaitingJob.submit({ zones: [A, B], timeouts: { queue: '70s', provision: '10m' } }, {});
    await job.until(2 * MINUTE);
    assert.equal(
      job.outcome.cause?.message,
      `its zones gave no chips for 70 s (timeouts.queue): ${B} had no turn; ${A}: asking ${A}`,
    );
  });
});

describe('a job whose timeouts.queue is shorter than a usual turn', function () {
  this.timeout(60_000);
  for (const hedge of [1, 2, 3])
    it(`asks in each of its zones in time, with hedge ${hedge}`, async () => {
      const zones = [A, B, 'us-east5-a'];
      const job = await WaitingJob.submit({ zones, tpu: { hedge }, timeouts: { queue: '90s' } }, {});
      await job.until(2 * MINUTE);
      assert.deepEqual(
        job.asked.map(({ zone, at }) => [zone, Math.round(at / (30 * SECOND))]),
        zones.map((zone, turn) => [zone, turn]),
      );
      assert.equal(job.outcome.result, 'failed');
    });
});

describe('a job that pauses between two rounds of refusals', function () {
  this.timeout(60_000);
  const pausing = (scope: RefusalScope, more: object = {}): Promise<WaitingJob> =>
    WaitingJob.submit({ zones: [A, B], ...more }, { create: () => refused(scope) }, { zoneBackoffMs: 5 * MINUTE });

  it('says at what time its zone is asked again, and in how long as the reader reads', async () => {
    const job = await pausing('zone');
    const asksAgain = /europe-west4-a|us-east1-d/;
    await job.until(MINUTE);
    const { why = '', nextZone } = await job.view();
    assert.ok(nextZone);
    assert.match(nextZone.zone, asksAgain);
    assert.ok(why.includes(`${nextZone.zone} is asked again at ${clock(nextZone.at - START)} UTC`), why);
    assert.doesNotMatch(why, /again in \d/);
    for (const leftMs of [200 * SECOND, 20 * SECOND])
      assert.match(
        await shown(job, nextZone.at - START - leftMs),
        new RegExp(`${nextZone.zone} is asked at .*, in ${leftMs > MINUTE ? '3m 20s' : '20s'}\\.`),
      );
    await job.until(nextZone.at - START + 5 * SECOND);
    assert.equal(job.asked[2]?.zone, nextZone.zone);
  });

  it('says that timeouts.queue comes first, if it does', async () => {
    const job = await pausing('zone', { timeouts: { queue: '100s' } });
    const text = await shown(job, MINUTE);
    assert.match(text, /It waits until .* at most, 40s from now \(timeouts\.queue\)\./);
    assert.doesNotMatch(text, /is asked/);
  });

  it('names the zone that is refused for a moment as the next one', async () => {
    const job = await pausing('moment');
    await job.until(MINUTE);
    const { nextZone } = await job.view();
    assert.equal(nextZone?.zone, A);
    await job.until((nextZone?.at ?? 0) - START + 5 * SECOND);
    assert.deepEqual([job.asked.at(-1)?.zone, new Set(job.asked.map(({ zone }) => zone))], [A, new Set([A])]);
  });
});

describe('the answer of a zone beside the one that waits', function () {
  this.timeout(60_000);
  const beside: Answers = {
    create: (zone) => (zone === A ? { kind: 'accepted' } : refused('permission', 'no right there')),
  };

  it('stands in the reason, in why and in its JSON', async () => {
    const job = await WaitingJob.submit({ zones: [A, B], timeouts: { provision: '20s' } }, beside);
    const text = await shown(job, MINUTE);
    assert.match(text, /europe-west4-a refused, a right is missing: no right there/);
    assert.match(
      text,
      /europe-west4-a refused \d+s ago \(permission\), and is asked again at .*, in \d+s: no right there/,
    );
    const view = await job.view();
    const [answer] = (askingOf(view, [], START + MINUTE) as { answers: NonNullable<typeof view.answers> }).answers;
    assert.deepEqual([answer?.zone, answer?.scope, answer?.message], [B, 'permission', 'no right there']);
    assert.ok((answer?.at ?? 0) > START + 20 * SECOND && (answer?.at ?? 0) <= START + MINUTE);
  });
});

describe('the next zone in the events of a job', function () {
  this.timeout(60_000);
  const C = 'us-east5-a';
  const NEXT = /if nothing comes before, (\S+) is asked at (\S+ \S+) UTC/;
  const told = async (job: WaitingJob) =>
    (await job.view()).events.flatMap(({ at, text }) => {
      const [, zone, time] = NEXT.exec(text) ?? [];
      return zone === undefined || time === undefined
        ? []
        : [{ at: at - START, zone, from: Date.parse(`${time.replace(' ', 'T')}Z`) - START }];
    });

  it('is the one that is asked, after a refusal beside another request', async () => {
    const beside: Answers = { create: (zone) => (zone === B ? refused('unknown') : { kind: 'accepted' }) };
    const job = await WaitingJob.submit({ zones: [A, B, C], timeouts: { provision: '60s' } }, beside);
    await job.until(70 * SECOND);
    const refusedAt = (await job.view()).events.find(({ text }) => text.startsWith(`${B} is given up`))?.at ?? 0;
    const [first] = (await told(job)).filter(({ at }) => at >= refusedAt - START);
    const asked = job.asked.find(({ zone }) => zone === C)?.at ?? 0;
    assert.deepEqual([first?.zone, Math.abs(Math.trunc(((first?.from ?? 0) - asked) / SECOND))], [C, 0]);
  });

  it('is told no more once all slices are ready', async () => {
    const ready = { kind: 'ready', uid: 'u', hosts: [{ index: 0, reach: 'ssh', internalIp: '10.0.0.1' }] } as const;
    const beside: Answers = { wait: (zone) => (zone === B ? ready : undefined) };
    const job = await WaitingJob.submit({ zones: [A, B, C], timeouts: { provision: '60s' } }, beside);
    await job.until(70 * SECOND);
    const { events, phase } = await job.view();
    const readyAt = events.find(({ text }) => text.startsWith(`all slices are ready in ${B}`))?.at;
    assert.ok(readyAt !== undefined && phase !== 'provisioning', phase);
    assert.deepEqual(
      (await told(job)).filter(({ at }) => at >= readyAt - START),
      [],
    );
  });

  it('is never one that comes after timeouts.queue', async () => {
    const job = await WaitingJob.submit({ zones: [A, B, C], timeouts: { queue: '5m', provision: '4m' } }, {});
    await job.until(250 * SECOND);
    const now = await job.view();
    for (const text of [now.why ?? '', ...now.events.slice(-2).map((event) => event.text)])
      assert.doesNotMatch(text, NEXT);
    const late = (await told(job)).filter(({ from }) => from >= 5 * MINUTE);
    assert.deepEqual(late, []);
  });
});

describe('what a job carries of texts of its cloud', function () {
  this.timeout(60_000);
  const LONG = '\u{1f600}'.repeat(MOST_CLOUD_TEXT / 2);

  for (const [what, cloud] of Object.entries({
    'of refused creates': { create: () => refused('zone', LONG) },
    'of requests that fail': { wait: () => ({ kind: 'lost', cause: 'refused', scope: 'zone', message: LONG }) },
    'of slices that fail': { wait: () => ({ kind: 'lost', cause: 'failed', message: LONG }) },
  } satisfies Record<string, Answers>))
    it(`stays small after hundreds ${what}`, async () => {
      const retries = { infrastructure: 1_000 };
      const job = await WaitingJob.submit({ zones: [A, B], retries }, cloud, { zoneBackoffMaxMs: 10 * SECOND });
      for (let ms = 0; job.asked.length <= 100 && ms < HOUR; ms += 20 * SECOND) await job.until(ms);
      assert.ok(job.asked.length > 100, `asked ${job.asked.length} times`);
      const bytes = Buffer.byteLength(JSON.stringify(await job.view()));
      assert.ok(bytes < 400_000, `${bytes} bytes`);
    });
});

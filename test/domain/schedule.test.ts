import assert from 'node:assert/strict';
import { MAX_JOB_ID, isValidJobId } from '../../domain/identity.js';
import { type Cron, isProblem, readCron, temporalCrons } from '../../domain/schedule/cron.js';
import {
  catchUpMinutes,
  firingJobId,
  firingOf,
  firingWorkflowId,
  isScheduleName,
  MAX_SCHEDULE_NAME,
} from '../../domain/schedule/schedule.js';
import { cronsOfGaps, isShownAgain, isTimeZone, nameOfZone } from '../../domain/schedule/wall-clock.js';

const NEW_YORK = 'America/New_York';
const cronOf = (text: string): Cron => {
  const read = readCron(text);
  return isProblem(read) ? assert.fail(read.message) : read;
};

describe('a cron text', () => {
  const GOOD: Readonly<Record<string, readonly [text: string, crons: readonly string[], gap: number]>> = {
    'is the same for Temporal': ['30 2 * * *', ['30 2 * * *'], 1440],
    'has names, ranges, steps and lists': [
      '0,30 8-18/2 * jan-mar MON-Fri',
      ['0,30 8,10,12,14,16,18 * 1,2,3 1,2,3,4,5'],
      30,
    ],
    'has a week that ends on Sunday': ['0 0 * * sat-sun', ['0 0 * * 0,6'], 1440],
    'has two Sundays': ['0 0 * * 0,7', ['0 0 * * 0'], 7 * 1440],
    'that names days of both kinds means either, which Temporal takes for both': [
      ...(['0 2 1 * mon', ['0 2 1 * *', '0 2 * * 1'], 1440] as const),
    ],
    'whose day begins with a star means both, as in crontab(5)': ['0 2 */2 * mon', [`0 2 ${odd(31)} * 1`], 7 * 1440],
    'has a value with a step to the end': ['10/20 * * * *', ['10,30,50 * * * *'], 20],
    'is a shorthand': ['@Daily', ['0 0 * * *'], 1440],
    'comes over midnight': ['55 23,0 * * *', ['55 0,23 * * *'], 60],
    'comes in leap years': ['0 0 29 2 *', ['0 0 29 2 *'], 4 * 365.25 * 1440],
  };
  for (const [name, [text, crons, gap]] of Object.entries(GOOD))
    it(name, () => {
      assert.deepEqual(temporalCrons(cronOf(text)), crons);
      assert.equal(cronOf(text).leastGapMinutes, gap);
    });

  const WRONG: Readonly<Record<string, RegExp>> = {
    '0 0 30 2 *': /^'.*' never comes: no month has such a day$/,
    '0 0 31 4,6,9,11 *': /^'.*' never comes/,
    '*/2 * * * *': /^'.*' has times 2 minutes apart: 5 minutes are the least$/,
    '59,0 3,4 * * *': /^'.*' has times 1 minute apart/,
    '0 0 2 * * *': /^'.*' has 6 fields, and a cron of jobctl has no seconds and no years$/,
    '0 2 * *': /^'.*' has 4 fields$/,
    '': /^'.*' has 0 fields$/,
    '60 2 * * *': /^minute: '60' is no value, range or step from 0 to 59$/,
    '0 2 * * monday': /^day of the week: 'monday' is no value, range or step from 0 to 7 or sun to sat$/,
    '0 5-2 * * *': /^hour: '5-2' ends before it begins$/,
    '0 */0 * * *': /^hour: '\*\/0' has steps of 0$/,
    '0 1-2-3 * * *': /^hour: '1-2-3' is no value/,
    '0 2 * * *\n0 3 * * *': /^'.*' has more than one line$/,
    '@reboot': /^'@reboot' is not known here$/,
    '0 0 L * *': /^day of the month: 'l' is no value/,
    [`${'0,'.repeat(200)}0 2 * * *`]: /^has 409 characters$/,
  };
  for (const [text, message] of Object.entries(WRONG))
    it(`that is wrong says so: ${JSON.stringify(text).slice(0, 40)}`, () => {
      const read = readCron(text);
      assert.match(isProblem(read) ? read.message : 'it is right', message);
    });
});

function odd(most: number): string {
  return Array.from({ length: Math.ceil(most / 2) }, (_, at) => 2 * at + 1).join(',');
}

describe('a clock that is put forward and back', () => {
  it('has shown a time before on one night in autumn alone', () => {
    const again = ['2026-11-01T06:30', '2026-11-01T06:59'];
    const once = ['2026-10-31T05:30', '2026-11-01T05:30', '2026-11-01T07:00', '2026-11-02T06:30', '2027-03-14T07:30'];
    for (const time of again) assert.equal(isShownAgain(NEW_YORK, Date.parse(`${time}:00Z`)), true, time);
    for (const time of once) assert.equal(isShownAgain(NEW_YORK, Date.parse(`${time}:00Z`)), false, time);
    assert.equal(isShownAgain('Australia/Lord_Howe', Date.parse('2027-04-03T15:15:00Z')), true, 'by half an hour');
    assert.equal(isShownAgain('UTC', Date.parse('2026-11-01T06:30:00Z')), false);
  });

  it('makes up for the times that it does not show, an hour on, once for each', () => {
    const since = Date.UTC(2026, 10, 30);
    const first = (cron: string, zone: string): readonly string[] => cronsOfGaps(cronOf(cron), zone, since).slice(0, 2);
    assert.deepEqual(first('30 2 * * *', NEW_YORK), ['0 30 3 14 3 * 2027', '0 30 3 12 3 * 2028']);
    assert.deepEqual(first('30 1,2,3 * * *', 'Europe/Berlin'), ['0 30 3 28 3 * 2027', '0 30 3 26 3 * 2028']);
    assert.deepEqual(first('15 2 * * *', 'Australia/Lord_Howe'), ['0 45 2 3 10 * 2027', '0 45 2 1 10 * 2028']);
    assert.equal(cronsOfGaps(cronOf('30 2 * * *'), NEW_YORK, since).length, 10);
    assert.deepEqual(first('30 2 * * mon', NEW_YORK), [], 'the clock is changed on Sundays');
    assert.deepEqual(first('30 4 * * *', NEW_YORK), []);
    assert.deepEqual(first('30 * * * *', NEW_YORK), [], 'every hour is every hour');
    assert.deepEqual(first('30 2 * * *', 'Asia/Tokyo'), []);
  });

  it('is that of a zone of the database', () => {
    for (const zone of ['UTC', NEW_YORK, 'america/new_york', 'Asia/Kolkata'])
      assert.equal(isTimeZone(zone), true, zone);
    for (const zone of ['Mars/Olympus', '+02:00', '', 'UTC\n', 'A'.repeat(80)])
      assert.equal(isTimeZone(zone), false, zone);
    assert.deepEqual(['america/new_york', 'utc', 'Asia/Kolkata'].map(nameOfZone), [NEW_YORK, 'UTC', 'Asia/Kolkata']);
  });
});

describe('a firing', () => {
  const at = Date.parse('2026-11-30T02:00:00Z');

  it('is read from the id that Temporal gives its workflow', () => {
    const firing = { schedule: 'nightly-2', at };
    assert.equal(firingWorkflowId(firing), 'schedule/nightly-2-2026-11-30T02:00:00Z');
    assert.deepEqual(firingOf(firingWorkflowId(firing)), firing);
    for (const id of [
      'schedule/nightly',
      'nightly-2026-11-30T02:00:00Z',
      'schedule/N-2026-11-30T02:00:00Z',
      'schedule/n-2026-13-30T02:00:00Z',
    ])
      assert.equal(firingOf(id), undefined, id);
  });

  it('has a job of its own: in the same minute by hand, under a name of any length', () => {
    const name = 'a'.repeat(MAX_SCHEDULE_NAME);
    const ids = [at, at + 1_000, at + 59_000, at + 60_000].map((each) => firingJobId({ schedule: name, at: each }));
    assert.deepEqual(
      ids.map((id) => id.slice(name.length)),
      [...['-20261130t0200', '-20261130t020001', '-20261130t020059', '-20261130t0201']],
    );
    assert.ok(ids.every(isValidJobId) && ids[1]?.length === MAX_JOB_ID);
    assert.equal(isScheduleName(`${name}a`), false);
  });

  it('that was missed is made up for until the next is due, for a week at most', () => {
    assert.deepEqual([30, 1440, 28 * 1440].map(catchUpMinutes), [30, 1440, 7 * 1440]);
  });
});

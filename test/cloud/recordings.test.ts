import assert from 'node:assert/strict';
import type { JsonObject } from '../../rehearsal/json.js';
import { ALLOWED } from './recordings/allowed.js';
import { type Allowed, type Difference, isAllowed } from './recordings/compare.js';
import { callOf, PUBLISHED, type RecordedFile, recordingsIn } from './recordings/recorded-call.js';
import { replay, type Replayed } from './recordings/replay.js';

/** Of a person who recorded a project: see CONTRIBUTING.md. */
const FOLDER = process.env['JOBCTL_RECORDINGS'] || PUBLISHED;

const unexplained = (found: readonly Difference[], rows: readonly Allowed[] = ALLOWED): readonly Difference[] =>
  found.filter((difference) => !rows.some((row) => isAllowed(difference, row)));
const idle = (found: readonly Difference[], rows: readonly Allowed[] = ALLOWED): readonly Allowed[] =>
  rows.filter((row) => !found.some((difference) => isAllowed(difference, row)));

describe("recordings of Google's answers, replayed", function () {
  this.timeout(60_000);
  const files = recordingsIn(FOLDER);
  let result: Replayed;
  before(async () => {
    result = await replay(files);
  });

  it('are calls of Cloud TPU', () => assert.ok(result.calls > 0));
  it('are read by our adapter as their states and codes say', () => assert.deepEqual(result.wrongReadings, []));
  it('are what the rehearsal answers, but for what a row of the allow list has a reason for', () =>
    assert.deepEqual(unexplained(result.differences), []));
  if (FOLDER === PUBLISHED)
    it('no row of the allow list is idle', () => assert.deepEqual(idle(result.differences), []));
});

describe('the published examples', () => {
  const files = recordingsIn(PUBLISHED);
  const answers = files.flatMap((file) => callOf(file) ?? []);

  it('say where each was read, of which day or month it is, and what was taken from there', () => {
    for (const { name, origin, sources = [] } of files) {
      assert.equal(origin, 'published example', name);
      assert.ok(sources.length > 0, name);
      for (const { where, date, gives } of sources)
        assert.ok(where.length > 10 && gives.length > 3 && /^20\d\d-\d\d(?:-\d\d)?$/.test(date), `${name}: ${where}`);
    }
  });

  it('name nobody', () => {
    const text = JSON.stringify(files.map(({ answer, request, method }) => ({ answer, request, method })));
    assert.doesNotMatch(text, /@(?!type)/);
    assert.deepEqual([...new Set(text.match(/projects\/[^/"']+/g))], ['projects/project-1']);
    assert.deepEqual(
      (text.match(/\d+\.\d+\.\d+\.\d+/g) ?? []).filter((address) => !address.startsWith('192.0.2.')),
      [],
    );
  });

  it('have each state that decides something, and each code of a refusal', () => {
    const states = answers.map(({ answer }) => {
      const { state } = answer;
      return typeof state === 'string' ? `node ${state}` : ((state as JsonObject | undefined)?.['state'] ?? '');
    });
    for (const state of [
      ...['ACCEPTED', 'WAITING_FOR_RESOURCES', 'PROVISIONING', 'ACTIVE', 'FAILED', 'SUSPENDING', 'SUSPENDED'],
      ...['node CREATING', 'node READY', 'node PREEMPTED'],
    ])
      assert.ok(states.includes(state), state);
    const codes = new Set(answers.map(({ code }) => code));
    assert.deepEqual(
      [...codes].toSorted((a, b) => a - b),
      [0, 3, 5, 6, 7, 8, 9],
    );
  });
});

describe('a planted difference', () => {
  const read = (name: string): RecordedFile => {
    const file = recordingsIn(PUBLISHED).find((each) => each.name === `${name}.json`);
    if (file === undefined) throw new Error(`no recording ${name}`);
    return file;
  };
  const withAnswer = (file: RecordedFile, change: (answer: JsonObject) => object): RecordedFile => ({
    ...file,
    answer: change(file.answer as JsonObject),
  });
  const ready = read('node-ready');
  const { networkEndpoints, ...unreachable } = ready.answer as JsonObject;
  const PLANTS: Readonly<
    Record<string, { readonly file: RecordedFile; readonly paths: readonly string[]; readonly reads?: string }>
  > = {
    'a field that the rehearsal does not have': {
      file: withAnswer(ready, (answer) => ({ ...answer, upcomingMaintenance: { type: 'SCHEDULED' } })),
      paths: ['upcomingMaintenance.type'],
    },
    'a field of another type': { file: withAnswer(ready, (answer) => ({ ...answer, id: 7 })), paths: ['id'] },
    'another name of a field, which both sides miss': {
      file: withAnswer(ready, () => ({ ...unreachable, endpoints: networkEndpoints })),
      paths: ['endpoints[].ipAddress', 'endpoints[].port'],
      reads: 'waiting',
    },
    "another of the service's words": {
      file: withAnswer(read('request-failed'), ({ state, ...rest }) => ({
        ...rest,
        state: { ...(state as JsonObject), stateInitiator: 'USER' },
      })),
      paths: ['state.stateInitiator'],
    },
    'another text of a refusal': {
      file: withAnswer(read('refused-409'), (answer) => ({
        error: { ...(answer['error'] as JsonObject), message: 'It is there.' },
      })),
      paths: ['message'],
    },
    'another code of a refusal': {
      file: withAnswer(read('refused-409'), (answer) => ({
        error: { ...(answer['error'] as JsonObject), status: 'ABORTED' },
      })),
      paths: ['code', 'message', 'details[].@type', 'details[].resourceName'],
      reads: 'unanswered',
    },
  };
  for (const [name, { file, paths, reads }] of Object.entries(PLANTS))
    it(`is found: ${name}`, async () => {
      const { wrongReadings, differences } = await replay([file]);
      assert.deepEqual([...new Set(differences.map(({ path }) => path))].toSorted(), paths.toSorted());
      assert.deepEqual(
        wrongReadings.map(({ read: text }) => text),
        reads === undefined ? [] : [reads],
      );
    });

  it('is passed over with a row that has a reason, and a row without one to pass over is idle', async () => {
    const plant = PLANTS['a field that the rehearsal does not have'];
    const { differences } = await replay(plant === undefined ? [] : [plant.file]);
    const row = { method: 'GetNode', path: 'upcomingMaintenance*', why: 'a test' };
    assert.deepEqual(unexplained(differences, [row]), []);
    assert.deepEqual(idle(differences, [row, { ...row, method: 'ListNodes' }]), [{ ...row, method: 'ListNodes' }]);
  });
});

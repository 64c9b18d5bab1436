import assert from 'node:assert/strict';
import { type SetUpRecord, type SetUpStepRecord, setUpText } from '../../domain/set-up-record.js';
import { failedSteps } from '../../client/job-records.js';

const record = (over: Partial<SetUpRecord>): SetUpRecord => ({
  ...{ v: 1, modules: ['docker', 'venv'], hosts: 4, startedAt: 0, ready: {}, steps: [] },
  ...over,
});
const step = (host: number, name: string, startedAt: number, more: Partial<SetUpStepRecord> = {}): SetUpStepRecord => {
  const [module = '', own = module] = name.split(' ');
  return { host, module, step: own, startedAt, tries: 1, ...more };
};
const done = { endedAt: 9, outcome: 'done' } as const;
const connected = [0, 1, 2, 3].map((host) => step(host, 'connect', 1, done));

describe('what a set-up is at, in a line', () => {
  const cases: Record<string, { record: SetUpRecord; want: string; isAttended?: false }> = {
    'no host has answered yet': {
      record: record({ steps: [step(0, 'connect', 1), step(1, 'connect', 1)] }),
      want: 'connected to 0/4 hosts, host 0 does not answer yet',
    },
    'a host that does not answer while the others go on': {
      record: record({
        ready: { docker: 3 },
        steps: [...connected.slice(0, 3), step(3, 'connect', 1), step(0, 'venv create', 20)],
      }),
      want: 'docker 3/4 hosts, host 3 does not answer yet',
    },
    'the host that is at its step for longest': {
      record: record({
        ready: { docker: 4, venv: 1 },
        steps: [
          ...connected,
          step(1, 'venv requirements', 30),
          step(2, 'venv requirements', 20),
          step(3, 'venv create', 25),
        ],
      }),
      want: 'venv 1/4 hosts, host 2: requirements',
    },
    'by its first try': {
      record: record({
        ready: { docker: 4 },
        steps: [...connected, step(1, 'venv create', 20), step(2, 'venv create', 40, { firstStartedAt: 10, tries: 3 })],
      }),
      want: 'venv 0/4 hosts, host 2: create, try 3',
    },
    'a host that is ahead is named with its module': {
      record: record({ ready: { docker: 3, venv: 0 }, steps: [...connected, step(1, 'venv create', 20)] }),
      want: 'docker 3/4 hosts, host 1: venv create',
    },
    'a step that failed and is tried again': {
      record: record({
        ready: { docker: 4 },
        steps: [...connected, step(2, 'venv create', 20, { endedAt: 22, outcome: 'failed', code: 100 })],
      }),
      want: 'venv 0/4 hosts, host 2: create ended with code 100, to be tried again',
    },
    'what a worker that is gone left open is passed over': {
      record: record({
        ready: {},
        steps: [step(2, 'venv requirements', 5), ...connected.slice(0, 2), step(2, 'connect', 40, done)],
      }),
      want: 'docker 0/4 hosts',
    },
    'nobody is at it': {
      record: record({ ready: { docker: 4 }, steps: [...connected, step(1, 'venv create', 20)] }),
      isAttended: false,
      want: 'venv 0/4 hosts; no worker is at it now',
    },
    'no modules': { record: record({ modules: [], steps: connected }), want: 'connected to 4/4 hosts' },
  };
  for (const [name, { record: of, want, isAttended = true }] of Object.entries(cases))
    it(name, () => assert.equal(setUpText(of, { isAttended }), want));
});

describe('the steps that ended a set-up', () => {
  const failed = { endedAt: 30, outcome: 'failed', code: 7 } as const;
  it('are those of the module that failed last, on each host', () => {
    const steps = [
      step(0, 'docker pull', 1, { ...failed, endedAt: 10 }),
      step(1, 'venv create', 1, failed),
      step(3, 'venv create', 1, { ...failed, endedAt: 31 }),
    ];
    const hosts = failedSteps(record({ endedAt: 40, ready: { docker: 3 }, steps }))?.map(({ host }) => host);
    assert.deepEqual(hosts, [3, 1]);
  });
  it('are none while it is under way, and of a module that was ready in the end', () => {
    const steps = [step(0, 'docker pull', 1, failed)];
    assert.equal(failedSteps(record({ steps })), undefined);
    assert.equal(failedSteps(record({ endedAt: 40, ready: { docker: 4 }, steps })), undefined);
  });
});

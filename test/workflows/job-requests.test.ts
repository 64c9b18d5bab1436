import assert from 'node:assert/strict';
import fc from 'fast-check';
import { z } from 'zod';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { invalidJob } from '../../activities/failures.js';
import { explainError } from '../../cli/terminal/explain-error.js';
import { ExitCode } from '../../cli/terminal/cli-error.js';
import { JobCalls } from '../../client/job-calls.js';
import type { TemporalCalls } from '../../client/temporal-calls.js';
import { form } from '../../contract/form.js';
import { type Told, toldText } from '../../domain/job-events/kinds.js';
import { checkEdit } from '../../domain/job-file/edit.js';
import { bindJobName, resolveJob } from '../../domain/job-file/resolve.js';
import type { TpuForm } from '../../domain/machine-kinds/cloud-tpu/words.js';
import { formatProblems, showValue } from '../../domain/problem.js';
import { refusal, wrongFile } from '../../workflows/inbox.js';
import { cancelText, type Request, requestCause, Requests } from '../../workflows/job/requests.js';
import { nextStep } from '../../workflows/job/steps.js';
import { tpuJob } from '../tpu-job.js';

const T0 = Date.UTC(2026, 10, 23);

const requestText = (request: Request): string => toldText(requestCause(request));

const kindOf = (request: Request | undefined): string =>
  request === undefined ? 'none' : request.kind === 'stop' && request.isRelease ? 'release' : request.kind;

/** Each verb as it is noted: validators are not asked here. */
const VERBS: Record<string, (requests: Requests) => void> = {
  stop: (requests) => requests.stop({ by: 'a' }, false),
  release: (requests) => requests.stop({ by: 'a' }, true),
  requeue: (requests) => requests.requeue({ by: 'a' }, 'us-east5-a'),
  restart: (requests) => requests.restart({ by: 'a' }, undefined, [1]),
  resume: (requests) => requests.resume(undefined),
};
const after = (...verbs: readonly string[]): string => {
  const requests = new Requests();
  for (const verb of verbs) VERBS[verb]?.(requests);
  return kindOf(requests.current);
};

describe('what people asked of a job, when they asked for more than one thing', () => {
  const cases: Record<string, { verbs: readonly string[]; want: string }> = {
    'a stop and a resume leave nothing to do': { verbs: ['stop', 'resume'], want: 'none' },
    'a restart goes on with what was being stopped': { verbs: ['stop', 'restart'], want: 'restart' },
    'a stop holds what was being restarted': { verbs: ['restart', 'stop'], want: 'stop' },
    'what was given back is not kept by a later stop': { verbs: ['release', 'stop'], want: 'release' },
    'a stop of what is being requeued keeps no slices': { verbs: ['requeue', 'stop'], want: 'release' },
    'a restart of what is being requeued leaves it requeued': { verbs: ['requeue', 'restart'], want: 'requeue' },
    'a requeue gives back what was stopped': { verbs: ['stop', 'requeue'], want: 'requeue' },
  };
  for (const [name, { verbs, want }] of Object.entries(cases)) it(name, () => assert.equal(after(...verbs), want));

  it('survives a continue-as-new at any point, the change of its file too', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...Object.keys(VERBS)), { maxLength: 8 }), fc.nat(8), (verbs, cut) => {
        const whole = new Requests();
        let carried = new Requests();
        verbs.forEach((verb, at) => {
          if (at === cut) carried = new Requests(JSON.parse(JSON.stringify(carried.carry() ?? {})) as object);
          VERBS[verb]?.(whole);
          VERBS[verb]?.(carried);
        });
        assert.deepEqual(carried.carry(), whole.carry());
      }),
    );
  });

  it('names who asked, from which computer', () => {
    const requests = new Requests();
    requests.stop({ by: 'alice', from: 'wks-12', verb: 'stop' }, false);
    assert.equal(requestText(requests.current as Request), 'alice on wks-12 stopped it');
    assert.equal(
      cancelText('running', { by: 'bob', from: 'login-1', verb: 'delete' }),
      'cancelled while running by bob on login-1 (jobctl delete)',
    );
    assert.equal(cancelText('queued', undefined), 'cancelled while queued');
    requests.requeue({ by: 'bob' }, 'us-east5-a');
    assert.equal(requestText(requests.current as Request), 'bob requeued it, us-east5-a first');
    const twice = new Requests();
    twice.restart({ by: 'bob' }, undefined, [3]);
    twice.restart({ by: 'ann' }, undefined, [0, 3]);
    twice.restart({ by: 'ann' }, undefined, undefined);
    assert.equal(
      requestText(twice.current as Request),
      'ann restarted it with other machines for slice 0, slice 3',
      'what one restart is to replace, a later one replaces too',
    );
    twice.restart({ by: 'ann' }, undefined, 'all');
    assert.equal(requestText(twice.current as Request), 'ann restarted it with other machines');
    const again = new Requests();
    again.restart({ by: 'bob' }, undefined, [0, 3]);
    assert.equal(requestText(again.current as Request), 'bob restarted it with other machines for slice 0, slice 3');
  });

  it('a requeue is in the log also if the job has given everything back for the one before', async () => {
    const noted: string[] = [];
    const begun: string[] = [];
    const requests = new Requests();
    const nothing = {
      ...{ requests, slices: { isWhole: false, present: [] }, attempt: { isRunning: false, isOpen: false } },
      lease: { isHeld: false, isWanted: false },
      story: { phase: 'queued', note: (what: Told) => noted.push(toldText(what)) },
      race: { begin: (zone: string) => begun.push(zone) },
    } as unknown as Parameters<typeof nextStep>[0];
    for (const zone of ['us-east5-a', 'us-east1-d']) {
      requests.requeue({ by: 'ann', from: 'wks-12' }, zone);
      await nextStep(nothing);
    }
    const want = ['us-east5-a', 'us-east1-d'];
    assert.deepEqual([begun, noted], [want, want.map((zone) => `ann on wks-12 requeued it, ${zone} first`)]);
  });

  it('a cancel is by whoever announced it, and by nobody when that is more than a minute ago', () => {
    const requests = new Requests();
    assert.equal(requests.canceller(T0), undefined);
    requests.noteCancel({ by: 'alice' }, T0);
    assert.deepEqual(requests.canceller(T0 + 60_000), { by: 'alice' });
    assert.equal(requests.canceller(T0 + 60_001), undefined);
  });

  it('is done once: what was asked meanwhile stays', () => {
    const requests = new Requests();
    requests.restart({ by: 'a' }, undefined, undefined);
    const first = requests.current;
    assert.ok(first);
    requests.stop({ by: 'b' }, false);
    requests.fulfilled(first);
    assert.equal(kindOf(requests.current), 'stop');
  });
});

describe('another file for an open job', () => {
  const TPU = { accelerator: 'v5litepod-16', zone: 'us-central1-a' };
  const FILE = { name: 'train', priority: 3, tpu: TPU, command: { run: 'python3 train.py' } };
  const id = 'train-7f3k';
  const resolved = resolveJob(FILE);
  assert.ok(resolved.ok);
  const spec = { ...tpuJob(bindJobName(resolved.spec, id)), priority: 1 as const };
  const inPool = { ...spec, tpu: { ...spec.tpu, network: 'from-the-pool' } };
  const edit = (request: Parameters<typeof checkEdit>[1]) => checkEdit({ id, job: FILE, spec: inPool }, request);
  const refusalOf = (request: Parameters<typeof checkEdit>[1]): string => {
    const checked = edit(request);
    assert.ok(!checked.ok);
    return checked.message;
  };

  it('changes command, environment and times, and keeps what its slices were made from', () => {
    const checked = edit({
      job: { ...FILE, name: 'other', priority: 5, env: { LR: 0.1 }, command: { run: 'echo ${tpu.name}' }, grace: 60 },
    });
    assert.ok(checked.ok);
    const { command, env, graceSeconds, name, priority, tpu } = tpuJob(checked.spec);
    assert.deepEqual([command?.run, env, graceSeconds], ['echo jc-train-7f3k', { LR: '0.1' }, 60]);
    assert.deepEqual([name, priority, tpu.network], ['train', 1, 'from-the-pool'], 'its own, and its pool’s');
  });

  it('a file that is wrong in itself exits as at submit, one of other slices as a refusal', async () => {
    const wrong = [['tpu', 'acelerator'], ['name', 'first'], ['grace']].map((path) => ({
      set: [{ path, value: 'x' }],
    }));
    const other = { set: [{ path: ['slices'], value: 2 }] };
    const codes = [...wrong, other].map(async (request) => {
      const checked = edit(request);
      assert.ok(!checked.ok);
      const failure = checked.isWrong ? wrongFile(checked.message) : refusal(checked.message);
      const calls = { ofWorker: (call: () => Promise<unknown>) => call() } as unknown as TemporalCalls;
      const update = () => Promise.reject(new WorkflowUpdateFailedError('update failed', failure));
      const people = new JobCalls({
        calls,
        upload: async () => ({}),
        polls: async () => ({ taskQueue: 'q', namespace: 'default', lastAt: Date.now() }),
        temporal: { workflow: { getHandle: () => ({ executeUpdate: update }) } },
      } as never);
      const error = await people.tell(id, 'restart', 'ann', {}).catch((thrown: unknown) => thrown);
      return explainError(error, false).exitCode;
    });
    assert.deepEqual(await Promise.all(codes), [...wrong.map(() => ExitCode.Usage), ExitCode.Refused]);
  });

  it('single values change the file in force', () => {
    const checked = edit({ set: [{ path: ['command', 'workers'], value: [0] }] });
    assert.ok(checked.ok);
    assert.deepEqual(checked.spec.command, { run: 'python3 train.py', hosts: [0] });
    assert.match(refusalOf({ set: [{ path: ['name', 'first'], value: 1 }] }), /^name\.first: 'train' stands where/);
  });

  const refused: Record<string, { request: Parameters<typeof checkEdit>[1]; want: RegExp }> = {
    'another accelerator, with both values': {
      request: { job: { ...FILE, tpu: { ...TPU, accelerator: 'v6e-8' } } },
      want: /^tpu\.accelerator: 'v6e-8' cannot take the place of 'v5litepod-16'/m,
    },
    'another zone': {
      request: { set: [{ path: ['tpu', 'zone'], value: 'us-west4-a' }] },
      want: /^tpu\.zone: 'us-west4-a' cannot take the place of 'us-central1-a'/m,
    },
    'more slices': {
      request: { set: [{ path: ['slices'], value: 2 }] },
      want: /^slices: cannot be set to 2 in a job that is open: it is not set/m,
    },
    'another pool': {
      request: { set: [{ path: ['pool'], value: 'b' }] },
      want: /^pool: cannot be set to 'b' in a job that is open: it is not set/m,
    },
    'another key': {
      request: { set: [{ path: ['ssh'], value: { private_key: '~/.ssh/other' } }] },
      want: /^ssh: cannot be set to \{"private_key":"~\/\.ssh\/other"\} in a job that is open: it is not set/m,
    },
    'a zone by another key': {
      request: { job: { ...FILE, tpu: { accelerator: 'v5e-16', zones: ['us-west4-a'] } } },
      want: /^tpu\.zone: cannot be left out in a job that is open: it is 'us-central1-a'\n.*\ntpu\.zones: cannot be set to \["us-west4-a"\]((?!accelerator).)*$/m,
    },
    'a key that another one is made of, in place of what follows from it': {
      request: { job: { ...FILE, tpu: { ...TPU, name: '${env.RUN}' }, env: { RUN: 'b' } } },
      want: /^tpu\.name: cannot be set to '\$\{env\.RUN\}'/m,
    },
    'a file that submit would refuse, with its words': {
      request: { set: [{ path: ['tpu', 'acelerator'], value: 'v6e-8' }] },
      want: /tpu\.acelerator: no such key in tpu\n {2}did you mean accelerator\?/,
    },
  };
  for (const [name, { request, want }] of Object.entries(refused))
    it(`refuses ${name}`, () => assert.match(refusalOf(request), want));

  /** Each key of `tpu` with a value that makes other slices. Undefined: there is none for this file. */
  const OTHER: Readonly<Record<keyof TpuForm, unknown>> = {
    ...{ accelerator: 'v6e-8', allocation_mode: 'queued-resources', name: 'mine', num_workers: undefined },
    ...{ zone: 'us-west4-a', zones: undefined, project: 'other-project', version: 'tpu-ubuntu2204-base' },
    ...{ pricing: 'ondemand', run_duration: '5h', valid_until: '5m', startup_script: 'true', tags: ['a'] },
    ...{ metadata: { a: 'b' }, labels: { a: 'b' }, flags: ['--network=n'], network: 'n', subnetwork: 'n' },
    ...{ external_ips: false, service_account: 'a@b.iam.gserviceaccount.com', scopes: ['cloud-platform'] },
    ...{
      reservation: 'r',
      reservation_bound: undefined,
      hedge: 1,
      adopt: 'my-node',
      topology: '4x4',
      data_disks: [{ source: 'd', mode: 'read-only' }],
    },
  };
  for (const [key, value] of Object.entries(OTHER).filter(([, other]) => other !== undefined))
    it(`refuses tpu.${key} by the name, the value and the unit of the job file`, () => {
      const message = refusalOf({ set: [{ path: ['tpu', key], value }] });
      const was = key in TPU ? / cannot take the place of '[^']+' in a job/ : / in a job that is open: it is not set$/m;
      assert.match(message, was);
      assert.ok(message.startsWith(`tpu.${key}: `) && message.includes(showValue(value)), message);
      assert.equal(message.split('\n').filter((line) => !line.startsWith(' ')).length, 1, message);
    });
});

describe('what is said of a call with thousands of mistakes', () => {
  /** A task brings 4 MiB at most, a failure stands in it twice, and a job whose refusal does not go through is heard no more. */
  const MOST = 33_000;
  const keys = Object.fromEntries(Array.from({ length: 4_700 }, (_, index) => [`${index}`.padStart(70, 'k'), 1]));
  const job = { tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a' }, command: { run: 'true' } };
  const resolved = resolveJob(job);
  assert.ok(resolved.ok);
  const present = { id: 'a-1', job, spec: resolved.spec };
  const edited = (request: Parameters<typeof checkEdit>[1]): string => {
    const checked = checkEdit(present, request);
    return checked.ok ? '' : checked.message;
  };
  const long = 'k'.repeat(350_000);
  const said: Record<string, string> = {
    'a file with 4,700 keys that there are not': refusal(edited({ job: { ...job, ...keys } })).message,
    'a section with as many': refusal(edited({ set: [{ path: ['tpu'], value: keys }] })).message,
    'names of as many variables': refusal(edited({ job: { ...job, env: { 'not a name': 1, ...keys, '=': 2 } } }))
      .message,
    'one key of 350,000 characters': refusal(edited({ job: { ...job, [long]: 1 } })).message,
    'a job that an activity refuses': invalidJob(long).message,
    'a call that has not the form of its contract': JSON.stringify(
      form(z.record(z.string(), z.string()))({ [long]: 1 }),
    ),
  };
  for (const [name, message] of Object.entries(said))
    it(`${name}: it fits into a failure`, () =>
      assert.ok(message !== '' && message.length < MOST, `${message.length}`));

  it('the first mistakes stand there, and how many more there are', () => {
    assert.match(
      said['a file with 4,700 keys that there are not'] ?? '',
      /^k+0: no such key[^]*\n\.\. and 4650 more problems$/,
    );
    const problems = Array.from({ length: 51 }, (_, index) => ({ path: [index], message: 'is wrong' }));
    assert.match(formatProblems(problems), /^\[0\]: is wrong\n[^]*\n\[49\]: is wrong\n\.\. and 1 more problem$/);
    assert.match(formatProblems(problems.slice(0, 50)), /\[49\]: is wrong$/);
  });
});

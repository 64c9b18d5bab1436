import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { ApplicationFailure } from '@temporalio/common';
import { asFailure } from '../../activities/failures.js';
import { isLasting, runHook } from '../../activities/attempt/run-hook.js';
import type { ActivityDependencies } from '../../activities/dependencies.js';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import { HostKeyUnverified, type HostsPort, HostUnfit, HostUnreachable } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import type { HookInput } from '../../contract/job-activities.js';
import type { HookReport } from '../../domain/hooks.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { runEnvironment } from '../../domain/run-environment.js';
import { shellQuote } from '../../domain/shell-quote.js';
import { modulePlans } from '../../activities/module-plans.js';
import { ourKey, withHost } from '../hosts/session.js';
import { Bucket } from './log-bucket.js';

const SILENT = new DefaultLogger('ERROR', () => undefined);

/** On a real host. @param env put into the job's environment behind its checks, as a service's spec might have it */
async function hookOnHost(
  run: string,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly [HookReport, number]> {
  const job = resolveJob({ machines: {}, command: { run: 'true' }, hooks: { finally: run } });
  assert.ok(job.ok);
  let ended: HookReport | undefined;
  let connects = 0;
  await withHost(async ({ host }) => {
    const fleet = createSshHosts({ port: host.port, hostKeys: memoryHostKeyPins() });
    const hosts: Partial<HostsPort> = {
      connect: (_, key, signal) => {
        connects += 1;
        return fleet.connect(host.target, key, signal);
      },
    };
    const input = {
      ...{ hook: 'finally', outcome: { result: 'succeeded' }, job: { id: 'hooked', run: 'r' }, attempt: 1 },
      ...{ spec: { ...job.spec, env }, settings: { bucket: 'b', loginUser: 'ann', project: 'none' } },
      slices: [
        {
          ...{ index: 0, uid: 'u', ref: { kind: 'machines', name: 's' } },
          hosts: [{ reach: 'ssh', index: 0, internalIp: '127.0.0.1' }],
        },
      ],
    } as unknown as HookInput;
    const dependencies = {
      ...{ hosts, store: new Bucket().port },
      installation: { sshKey: { privateKey: ourKey.private }, publicKey: ourKey.public, trust: {} },
    } as unknown as ActivityDependencies;
    try {
      await new MockActivityEnvironment({}, { logger: SILENT }).run(async () => {
        ended = await runHook(dependencies, input);
      });
    } finally {
      fleet.release();
    }
  });
  assert.ok(ended);
  return [ended, connects];
}

describe('a hook on its host', function () {
  this.timeout(60_000);

  it('that no host can begin is not tried until its time is over', async () => {
    const [{ status, message }, connects] = await hookOnHost('true', { 'A B': 'x' });
    assert.deepEqual([status, connects], ['not-run', 1]);
    assert.match(message ?? '', /^host 0: env: 'A B' is no name of an environment variable/);
  });

  it('names what it left running', async () => {
    const [{ status, message }] = await hookOnHost('sleep 2000 & echo left');
    assert.equal(status, 'done');
    assert.match(message ?? '', /^it left running, and was ended: a process on host 0: \d+ 'sleep 2000'$/);
  });
});

describe('what no repetition changes', () => {
  const thrown = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return error;
    }
  };
  const job = resolveJob({ machines: {}, files: ['a'], ssh: { tpu_private_key: 'k' } });
  assert.ok(job.ok);
  const { spec } = job;
  const nothing = { files: new Map(), keys: [] };
  const place = { job: 'j', attempt: 1, bucket: 'b', slices: [] };
  const wrong: Readonly<Record<string, () => unknown>> = {
    'a NUL for a shell': () => shellQuote('x\0y'),
    'a module that does not exist': () => modulePlans({ ...spec, modules: ['nowhere'] }, nothing),
    'a module without its section': () => modulePlans({ ...spec, modules: ['script'] }, nothing),
    'a file that was not given': () => modulePlans({ ...spec, modules: ['files'] }, nothing),
    'a key that was not given': () => modulePlans({ ...spec, modules: ['ssh'] }, nothing),
    'a host that the attempt has not': () => runEnvironment(spec, place, 0, 0),
  };
  for (const [what, work] of Object.entries(wrong))
    it(`ends the job: ${what}`, () => {
      const error = thrown(work);
      assert.ok(error instanceof Error && isLasting(error), String(error));
      const failure = asFailure(error);
      assert.ok(failure instanceof ApplicationFailure);
      assert.deepEqual([failure.type, failure.nonRetryable, failure.message], ['InvalidInput', true, error.message]);
    });

  it('is not a host that is silent', () => {
    assert.ok(!isLasting(new HostUnreachable('h', new Error('x'))) && !isLasting(new RangeError('x')));
    assert.ok(isLasting(new HostUnfit('h')) && isLasting(new HostKeyUnverified('h')));
  });
});

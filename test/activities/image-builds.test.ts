import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import { buildActivities } from '../../activities/image-builds.js';
import { ApplicationFailure } from '@temporalio/common';
import type { Builds } from '../../cloud/builds/port.js';
import { CloudRefused, CloudUnavailable } from '../../cloud/machines/port.js';
import type { BuildActivities, DeleteBuildInput } from '../../contract/build.js';
import type { BuildCondition } from '../../domain/build/spec.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';

const INPUT: DeleteBuildInput = {
  id: 'build/right',
  build: {
    ...{ repository: 'https://host/a.git', commit: '1f'.repeat(20), context: '', dockerfile: 'Dockerfile', args: {} },
    ...{ platform: 'linux/amd64', image: 'host/a', namespace: 'default' },
  },
  timings: { ...DEFAULT_TIMINGS, notFoundApartMs: 5 },
  notBefore: 0,
};

/** A cluster that says these things one after the other, and then the last one for ever. */
function told(...looks: readonly (BuildCondition['kind'] | Error)[]) {
  const calls: string[] = [];
  const left = [...looks];
  const builds = {
    hashOf: () => 'right',
    create: async () => ({ kind: 'accepted' as const }),
    observe: async () => {
      const look = left.length > 1 ? left.shift() : left[0];
      calls.push(look instanceof Error ? 'no answer' : (look ?? ''));
      if (look instanceof Error) throw look;
      return { kind: look } as BuildCondition;
    },
    remove: async () => {
      calls.push('remove');
      return { kind: 'accepted' as const };
    },
    follow: async () => undefined,
  } as Builds;
  const outside = { builds, installation: { owner: 'own-1' } } as Parameters<typeof buildActivities>[0];
  const activities = buildActivities(outside);
  const run = <Name extends 'deleteBuild' | 'findBuild' | 'createBuild'>(
    name: Name,
    input = INPUT,
    scheduledTimestampMs = Date.now(),
  ) =>
    new MockActivityEnvironment({ scheduledTimestampMs }).run(activities[name] as BuildActivities['findBuild'], input);
  return { calls, run };
}

describe('the Job of a build', function () {
  this.timeout(20_000);

  it('is deleted until it was seen gone twice, and what says nothing is no look', async () => {
    const { calls, run } = told('running', 'deleting', 'missing', new CloudUnavailable('503'), 'missing', 'missing');
    await run('deleteBuild');
    assert.deepEqual(calls, ['running', 'remove', 'deleting', 'missing', 'no answer', 'missing', 'missing']);
  });

  it('is looked for as long as a create call without an answer may still make it', async () => {
    const { calls, run } = told('missing', 'missing', 'missing', 'running', 'missing');
    const notBefore = Date.now() + 700;
    await run('deleteBuild', { ...INPUT, notBefore, timings: { ...INPUT.timings, notFoundApartMs: 200 } });
    assert.ok(Date.now() >= notBefore);
    assert.ok(calls.includes('remove'), calls.join());
  });

  it('is given up where the cluster lets nobody look for long: no job may wait for it for ever', async () => {
    const { calls, run } = told(new CloudRefused('forbidden'));
    const { giveBackMs } = INPUT.timings;
    await run('deleteBuild', INPUT, Date.now() - giveBackMs);
    assert.deepEqual(calls, ['no answer']);
    const soon = told(new CloudRefused('forbidden'), new CloudRefused('forbidden'), 'missing');
    await soon.run('deleteBuild', INPUT, Date.now() - giveBackMs + 60_000);
    assert.deepEqual(soon.calls, ['no answer', 'no answer', 'missing', 'missing']);
  });

  for (const [look, calls] of [
    ['deleting', ['deleting']],
    ['running', ['running', 'remove']],
  ] as const)
    it(`is given up where it is ${look} for ever, after a last try`, async () => {
      const cluster = told(look);
      await cluster.run('deleteBuild', INPUT, Date.now() - INPUT.timings.giveBackMs);
      assert.deepEqual(cluster.calls, calls);
    });

  it('of somebody else is left alone', async () => {
    const { calls, run } = told('foreign');
    await run('deleteBuild');
    assert.deepEqual(calls, ['foreign']);
  });

  const FOUND: readonly (readonly [BuildCondition['kind'] | Error, string])[] = [
    ['waiting', 'there'],
    ['lost', 'there'],
    ['missing', 'missing'],
    ['deleting', 'missing'],
    ['foreign', 'foreign'],
    [new CloudUnavailable('503'), 'unknown'],
    [new CloudRefused('forbidden'), 'unknown'],
  ];
  for (const [look, want] of FOUND)
    it(`is ${want} after a create call without an answer, if the cluster says ${String(look)}`, async () => {
      assert.equal(await told(look).run('findBuild'), want);
    });

  it('is not made for other inputs than those of the id: whoever reaches Temporal can start a workflow', async () => {
    const { run } = told('missing');
    for (const name of ['createBuild', 'findBuild', 'deleteBuild'] as const)
      await assert.rejects(
        async () => run(name, { ...INPUT, id: 'build/wrong' }),
        (error) => error instanceof ApplicationFailure && error.type === 'InvalidInput' && error.nonRetryable === true,
      );
  });
});

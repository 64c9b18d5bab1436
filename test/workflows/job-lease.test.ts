import assert from 'node:assert/strict';
import { toldText } from '../../domain/job-events/kinds.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { slicePlan } from '../../domain/machine-kinds/cloud-tpu/plan.js';
import type { TierPurchase } from '../../domain/slice.js';
import { NO_PROJECT } from '../../quota/quota-config.js';
import {
  isPreemptionByQuota,
  type Revocation,
  revocationCause,
  revocationNotice,
} from '../../workflows/job/interruption.js';
import { demandOf, type JobCarry } from '../../workflows/job/state.js';
import { queued } from '../../workflows/job/steps.js';
import { tpuJob, type TpuJob } from '../tpu-job.js';

const revocationText = (revocation: Revocation): string => toldText(revocationCause(revocation));
const queuedText = (project: string, isAgain: boolean): string => toldText(queued(project, isAgain));

function specOf(tpu: object = {}): TpuJob {
  const job = resolveJob({ tpu: { accelerator: 'v5litepod-16', zones: ['us-west4-a', 'us-central1-a'], ...tpu } });
  assert.ok(job.ok);
  return tpuJob(job.spec);
}
const demanded = (spec: JobSpec) =>
  demandOf({ spec, submittedAt: 7, settings: { project: 'vision', user: 'alice' } as JobCarry['settings'] });

describe('what a job asks of its pool', () => {
  it('names a pricing only where its own file does, so that every tier may serve it otherwise', () => {
    assert.equal(demanded(specOf({ pricing: 'spot' })).pricing, 'spot');
    assert.equal('pricing' in demanded(specOf()), false);
    assert.equal('pricing' in demanded(specOf({ pricing: 'any' })), false);
  });
  it('has its zones in order, its units and the time of its submit', () => {
    const { zones, units, submittedAt, priority } = demanded(specOf());
    assert.deepEqual([zones, units, submittedAt, priority], [['us-west4-a', 'us-central1-a'], { v5litepod: 16 }, 7, 3]);
  });

  it('is called after its project, where it has one', () =>
    assert.deepEqual(
      [queuedText('vision', false), queuedText(NO_PROJECT, true)],
      ['waits for quota of project vision', 'waits for quota again, with its first submit time'],
    ));
});

describe('whose word the name of a user is', () => {
  it('goes to the pool with the demand: verified if a server said so, else not', () => {
    const of = (settings: object): boolean | undefined =>
      demandOf({ spec: specOf(), submittedAt: 7, settings: settings as JobCarry['settings'] }).isVerified;
    assert.equal(of({ user: 'alice', isVerified: true }), true);
    assert.equal(of({ user: 'alice' }), undefined);
  });
});

describe('a slice under a lease of a tier', () => {
  const hashOf = (spec: TpuJob, bought?: TierPurchase): string =>
    slicePlan(spec, {
      ...{ owner: 'o', googleProject: 'g', zone: 'z', name: 'n', job: 'j', run: 'r', generation: 1, loginUser: 'me' },
      publicKey: 'k',
      ...(bought === undefined ? {} : { bought }),
    }).ownership.spec;

  it('is not adopted under another pricing, and is the same slice where the tier says what the job says', () => {
    const spec = specOf({ pricing: 'spot' });
    assert.equal(hashOf(spec, {}), hashOf(spec), 'a tier without pricing changes nothing');
    assert.equal(hashOf(spec, { pricing: 'spot' }), hashOf(spec));
    assert.notEqual(hashOf(spec, { pricing: 'ondemand' }), hashOf(spec));
    const reserved = { pricing: 'reserved' } as const;
    assert.notEqual(hashOf(spec, { ...reserved, reservation: 'r1' }), hashOf(spec, { ...reserved, reservation: 'r2' }));
  });
});

describe('a revocation in words', () => {
  const reason = 'job b of project p waits for them';
  it('says by whom and for whom, and counts as a preemption where there was something to take', () => {
    assert.equal(revocationText({ cause: 'quota', reason }), `preempted by quota: ${reason}`);
    assert.equal(revocationText({ cause: 'asking', reason }), `its lease goes back to the pool: ${reason}`);
    assert.equal(revocationText({ cause: 'parked', reason }), `its lease was taken: ${reason}`);
    const counted = (['quota', 'asking', 'parked'] as const).map((cause) => isPreemptionByQuota({ cause, reason }));
    assert.deepEqual(counted, [true, false, true]);
    assert.deepEqual(revocationNotice({ cause: 'parked', reason }), { cause: 'quota', reason });
  });
});

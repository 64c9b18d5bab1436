import assert from 'node:assert/strict';
import {
  type Adoption,
  adoptionFrom,
  fitOf,
  isDeletedAfter,
  labelsWith,
  labelsWithout,
  type NodeFacts,
  wordCommand,
  wordLabels,
} from '../../domain/machine-kinds/cloud-tpu/adoption.js';
import { labelsOf, ownershipFrom } from '../../domain/identity.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { formatProblem } from '../../domain/problem.js';
import { machineKind } from '../../domain/machines.js';
import type { CloudTpuPlan } from '../../domain/machine-kinds/cloud-tpu/words.js';
import { GOOGLE_PROJECT, ownership, slicePlan, ZONE } from '../cloud/cloud-tpu-plan.js';

const REF = {
  kind: 'cloud-tpu',
  googleProject: GOOGLE_PROJECT,
  zone: ZONE,
  name: 'jc-train-x1-g1',
  mode: 'tpu-vm',
} as const;
const plan = slicePlan(REF.name, 'tpu-vm', { ref: { ...REF, adopts: 'by-hand' } });
const SINCE = 1_764_500_000_000;
const adoption = (over: Partial<Adoption> = {}): Adoption => ({
  ...ownership(),
  ...{ slice: REF.name, state: 'taken', since: SINCE },
  ...over,
});

describe('the labels of an adopted node', () => {
  const own = { team: 'vision', 'jobctl-adopt': 'run-1', 'jobctl-adopt-delete': 'run-1' };

  it('say the adoption, use up the word, and leave everything else as it was', () => {
    const marked = labelsWith(own, adoption());
    assert.deepEqual(adoptionFrom(marked), adoption());
    assert.deepEqual(
      [marked['team'], marked['jobctl-adopt'], isDeletedAfter(marked, 'run-1')],
      ['vision', undefined, true],
    );
    assert.deepEqual(labelsWithout(marked, 'run-1'), { team: 'vision' });
    const next = { 'jobctl-adopt': 'run-2', 'jobctl-adopt-delete': 'run-2' };
    assert.deepEqual(labelsWithout({ ...marked, ...next }, 'run-1'), { team: 'vision', ...next });
    assert.equal(isDeletedAfter({ ...marked, ...next }, 'run-1'), false);
    const again = labelsWith(marked, adoption({ state: 'taking', generation: 2 }));
    assert.deepEqual(adoptionFrom(again), adoption({ state: 'taking', generation: 2 }));
  });

  it('are not those of a resource that is deleted by its owner label', () => {
    const marked = labelsWith(own, adoption());
    assert.equal(ownershipFrom(marked), undefined);
    assert.deepEqual(
      Object.keys(marked).filter((key) => key in labelsOf(ownership())),
      [],
    );
  });

  it('say nothing if one of them is missing or was changed by hand', () => {
    const marked = labelsWith({}, adoption());
    for (const key of Object.keys(marked)) {
      const { [key]: _, ...rest } = marked;
      assert.equal(adoptionFrom(rest), undefined, key);
    }
    assert.equal(adoptionFrom({ ...marked, 'jobctl-adopted': 'mine' }), undefined);
    assert.equal(adoptionFrom({ ...marked, 'jobctl-adopted-generation': 'x' }), undefined);
  });
});

describe('a node that a job wants to adopt', () => {
  const node = (over: Partial<NodeFacts> = {}): NodeFacts => ({
    ...{ state: 'READY', labels: wordLabels('run-1', false), accelerator: 'v5litepod-16', topology: '4x4' },
    ...{ runtimeVersion: 'v2-alpha-tpuv5-lite', pricing: 'spot', request: undefined },
    ...over,
  });
  const cases: Record<string, { over?: Partial<NodeFacts>; of?: Partial<CloudTpuPlan>; want: 'fits' | RegExp }> = {
    'fits if its owner has named the run of the job': { want: 'fits' },
    'is waited for without a word': {
      over: { labels: {} },
      want: /^later: waiting for the word of the owner of node by-hand: gcloud /,
    },
    'is waited for if the word is about another job': {
      over: { labels: wordLabels('run-2', false) },
      want: /^later: .*jobctl-adopt=run-1$/,
    },
    'is told nothing of without a word': {
      over: { labels: labelsWith({}, adoption({ job: 'other', run: 'r' })), state: 'STOPPED', accelerator: 'v4-8' },
      want: /^later: waiting for the word of the owner of node by-hand: gcloud [^;]*$/,
    },
    'is waited for while it is repaired': { over: { state: 'REPAIRING' }, want: /^later: node by-hand is REPAIRING/ },
    'is not taken from another job': {
      over: { labels: { ...labelsWith({}, adoption({ job: 'other', run: 'r' })), 'jobctl-adopt': 'run-1' } },
      want: /^no: node by-hand was adopted by job other$/,
    },
    'is waited for while an earlier slice of the job gives it back': {
      over: { labels: labelsWith({}, adoption({ slice: 'jc-train-x1-g0' })) },
      want: /^later: node by-hand is being given back/,
    },
    'is not one that jobctl made': {
      over: { labels: { ...labelsOf(ownership({ job: 'mine' })), 'jobctl-adopt': 'run-1' } },
      want: /^no: .* jobctl made it for job mine$/,
    },
    'is not adopted when it is stopped': { over: { state: 'STOPPED' }, want: /^no: node by-hand is STOPPED: only/ },
    'is not adopted when it was preempted': {
      over: { state: 'PREEMPTED' },
      want: /^no: node by-hand is PREEMPTED: only/,
    },
    'must be of the type, runtime and pricing of the job, all named at once': {
      over: { accelerator: 'v5litepod-8', runtimeVersion: 'tpu-vm-base', pricing: 'ondemand', topology: '2x4' },
      want: /^no: node by-hand is not as the job asks: tpu\.accelerator is v5litepod-16, and it has v5litepod-8; tpu\.version is v2-alpha-tpuv5-lite, and it has tpu-vm-base; tpu\.pricing is spot, and it has ondemand; tpu\.topology is 4x4, and it has 2x4$/,
    },
    'may have a shape that its type does not say': { of: { topology: '2x8' }, over: { topology: '2x8' }, want: 'fits' },
  };
  for (const [name, { over, of, want }] of Object.entries(cases))
    it(name, () => {
      const fit = fitOf({ ...plan, ...of }, node(over), '4x4');
      if (want === 'fits') assert.deepEqual(fit, { kind: 'fits' });
      else assert.match(fit.kind === 'fits' ? 'fits' : `${fit.kind}: ${fit.message}`, want);
    });

  it('is given by a command of gcloud', () => {
    const command = wordCommand({ node: 'n', zone: 'z', googleProject: 'p' }, wordLabels('run-1', true));
    assert.equal(
      command,
      'gcloud compute tpus tpu-vm update n --zone=z --project=p --update-labels=jobctl-adopt=run-1,jobctl-adopt-delete=run-1',
    );
  });
});

describe('tpu.adopt in a job file', () => {
  const PATH = 'projects/my-project/locations/us-central1-a/nodes/by-hand';
  const resolved = (tpu: object, rest: object = {}) =>
    resolveJob({ tpu: { accelerator: 'v5litepod-16', ...tpu }, command: { run: 'true' }, ...rest });
  const tpuOf = (tpu: object) => {
    const job = resolved(tpu);
    assert.ok(job.ok, JSON.stringify(job));
    return 'tpu' in job.spec ? job.spec.tpu : undefined;
  };

  it('gives the zone and the project of a path, and one request at a time', () => {
    const tpu = tpuOf({ adopt: PATH });
    assert.deepEqual(tpu?.adopt, { node: 'by-hand', zone: 'us-central1-a' });
    assert.deepEqual([tpu?.zones, tpu?.project, tpu?.hedge], [['us-central1-a'], 'my-project', 1]);
    assert.deepEqual(tpuOf({ adopt: 'by-hand', zone: 'us-central1-a' })?.adopt, tpu?.adopt);
  });

  const wrong: Record<string, { tpu: object; rest?: object; want: RegExp }> = {
    'a name that no node has': {
      tpu: { adopt: 'My_Node', zone: 'us-central1-a' },
      want: /^tpu\.adopt: 'My_Node' is no node/m,
    },
    'a bare name without a zone': {
      tpu: { adopt: 'by-hand' },
      want: /^tpu\.adopt: is in one zone, and the job names none/m,
    },
    'several zones': {
      tpu: { adopt: 'by-hand', zones: ['us-central1-a', 'us-west4-a'] },
      want: /^tpu\.adopt: is in one zone, and the job names none or several/m,
    },
    'any zone': { tpu: { adopt: PATH, zones: 'any' }, want: /^tpu\.adopt: is in one zone/m },
    'another zone than its own': {
      tpu: { adopt: PATH, zone: 'us-west4-a' },
      want: /^tpu\.adopt: is in zone us-central1-a, and the job asks for us-west4-a/m,
    },
    'another project than its own': {
      tpu: { adopt: PATH, project: 'other-project' },
      want: /^tpu\.adopt: is of project my-project, and the job's is other-project/m,
    },
    'several slices': {
      tpu: { adopt: PATH },
      rest: { slices: 2 },
      want: /^tpu\.adopt: is one node, and the job asks for 2/m,
    },
    'requests beside it': { tpu: { adopt: PATH, hedge: 2 }, want: /^tpu\.hedge: is for requests/m },
    'every member of an array': {
      tpu: { adopt: PATH },
      rest: { array: { matrix: { lr: [1, 2] } } },
      want: /^tpu\.adopt: is one node, and every member would ask for it/m,
    },
  };
  for (const [name, { tpu, rest, want }] of Object.entries(wrong))
    it(`is refused for ${name}`, () => {
      const job = resolveJob(
        { tpu: { accelerator: 'v5litepod-16', ...tpu }, command: { run: 'true' }, ...rest },
        { mayBeArray: true },
      );
      assert.ok(!job.ok);
      assert.match(job.problems.map((problem) => formatProblem(problem)).join('\n'), want);
    });

  it('is for the first slice of a job alone, and in the zone of the node', () => {
    const job = resolved({ adopt: PATH });
    assert.ok(job.ok);
    const place = { owner: 'o', zone: 'us-central1-a', name: 'jc-a-g1', job: 'a', run: 'r', generation: 1 };
    const rest = { loginUser: 'jobctl', publicKey: 'ssh-ed25519 A', googleProject: 'my-project' };
    const planOf = (over: object) => machineKind('cloud-tpu').plan(job.spec, { ...place, ...rest, ...over }).ref;
    assert.equal('adopts' in planOf({ mayAdopt: true }), true);
    assert.equal('adopts' in planOf({}), false);
    assert.equal('adopts' in planOf({ mayAdopt: true, zone: 'us-west4-a' }), false);
  });
});

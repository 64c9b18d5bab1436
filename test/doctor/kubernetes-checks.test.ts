import assert from 'node:assert/strict';
import { kubernetesChecks, type WantedPods } from '../../cli/doctor/kubernetes.js';
import { type ClusterFacts, type NodeFact, NEEDED_RIGHTS } from '../../cloud/machines/kubernetes/inspect.js';

type Rest = NonNullable<ClusterFacts['rest']>;
const known = <T>(value: T) => ({ known: true, value }) as const;
const node = (over: Partial<NodeFact> = {}): NodeFact => ({ name: 'n', isReady: true, gpus: 0, tpus: 0, ...over });
const REST: Rest = {
  labels: known({ kueue: [] }),
  missing: known([]),
  quotas: known([]),
  nodes: known([node()]),
  objects: [],
};
const factsOf = (rest: Partial<Rest> = {}, version = 'v1.34.4'): ClusterFacts => ({
  ...{ context: 'c', server: 'https://s', namespace: 'ml', version: known(version) },
  rest: { ...REST, ...rest },
});
const lines = (facts: ClusterFacts, wanted: WantedPods = { workers: 1 }): string[] =>
  kubernetesChecks(facts, wanted).map(({ check, state, what }) => `${state} ${check}: ${what}`);
const right = (resource: string, subresource?: string) =>
  NEEDED_RIGHTS.find((each) => each.resource === resource && each.subresource === subresource) ?? assert.fail();

describe('jobctl doctor --kubernetes', () => {
  it('a cluster that has everything is ok throughout', () => {
    assert.ok(
      lines(factsOf()).every((line) => line.startsWith('ok ')),
      lines(factsOf()).join('\n'),
    );
  });

  const cases: Record<string, [ClusterFacts, RegExp, WantedPods?]> = {
    'no answer': [
      { ...factsOf(), version: { known: false, why: 'connect ECONNREFUSED' }, rest: undefined as never },
      /^failed cluster: c at https:\/\/s: connect ECONNREFUSED$/,
    ],
    'an old cluster': [factsOf({}, 'v1.27.9-gke.100'), /^failed cluster: .*jobctl needs 1\.29/],
    'no such namespace': [factsOf({ labels: known(undefined) }), /^failed namespace: ml does not exist/],
    'a namespace of Kueue': [
      factsOf({ labels: known({ kueue: ['kueue.x-k8s.io/managed'] }) }),
      /^failed namespace: Kueue manages ml \(its label kueue/,
    ],
    'a right that is missing': [
      factsOf({ missing: known([{ right: right('pods', 'exec'), verbs: ['create'] }]) }),
      /^failed rights: may not create pods\/exec in ml, needed to set pods up/,
    ],
    'a right that jobctl can do without': [
      factsOf({ missing: known([{ right: right('events'), verbs: ['list'] }]) }),
      /^warning rights: may not list events/,
    ],
    'a secret and a priority class that are missing': [
      factsOf({ objects: ['Secret hf', 'PriorityClass urgent'].map((what) => ({ what, isThere: known(false) })) }),
      /^failed objects: not there, for ml: Secret hf, PriorityClass urgent$/,
    ],
    'a secret that is there, and a priority class that the account may not read': [
      factsOf({
        objects: [
          { what: 'Secret hf', isThere: known(true) },
          { what: 'PriorityClass urgent', isThere: { known: false, why: 'forbidden' } },
        ],
      }),
      /^warning objects: could not look for PriorityClass urgent: forbidden$/,
    ],
    'nodes that nobody may list': [factsOf({ nodes: { known: false, why: 'forbidden' } }), /^warning nodes: could not/],
    'too few GPUs': [
      factsOf({ nodes: known([node({ gpus: 8 }), node({ gpus: 4 }), node({ gpus: 8, isReady: false })]) }),
      /^failed nodes: 2 of 3 nodes are Ready, with 12 GPUs and 0 TPU chips: room for 1 of 2 pods of 8 GPUs/,
      { workers: 2, gpus: 8 },
    ],
    'no TPU of the shape': [
      factsOf({ nodes: known([node({ tpus: 4, tpu: 'tpu-v5-lite-podslice 2x4' })]) }),
      /^failed nodes: .*0 of 4 nodes of tpu-v5-lite-podslice 4x4/,
      { workers: 4, tpu: { accelerator: 'tpu-v5-lite-podslice', topology: '4x4', chips: 4 } },
    ],
  };
  for (const [name, [facts, want, wanted]] of Object.entries(cases))
    it(name, () => {
      const { rest, ...first } = facts;
      const found = lines(rest === undefined ? first : facts, wanted).filter((line) => !line.startsWith('ok '));
      assert.equal(found.length, 1, found.join('\n'));
      assert.match(found[0] ?? '', want);
    });
});

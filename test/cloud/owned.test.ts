import assert from 'node:assert/strict';
import { type ApiNode, type ApiQueuedResource, ownedIn } from '../../cloud/machines/cloud-tpu/observation.js';
import { labelsOf } from '../../domain/identity.js';
import { ownership } from './cloud-tpu-plan.js';

const labels = labelsOf(ownership());
const path = (name: string, zone = 'z'): string => `projects/p/locations/${zone}/${name}`;
const node = (name: string, request?: string, zone = 'z'): ApiNode => ({
  name: path(`nodes/${name}`, zone),
  labels,
  ...(request !== undefined && { queuedResource: path(`queuedResources/${request}`, zone) }),
});
const request = (name: string, ...multislices: readonly object[]): ApiQueuedResource => ({
  name: path(`queuedResources/${name}`),
  tpu: { nodeSpec: multislices.map((more) => ({ node: { labels }, ...more })) },
});
const ref = (name: string, more: object = { mode: 'queued-resources' }): object => ({
  ...{ kind: 'cloud-tpu', googleProject: 'p', zone: 'z', name },
  ...more,
});
const of = (slices: number): object => ({ mode: 'queued-resources', slices });

const cases: Record<string, { requests?: ApiQueuedResource[]; nodes?: ApiNode[]; want: object[] }> = {
  'a node without a queue is deleted by its own name': {
    nodes: [node('n')],
    want: [ref('n', { mode: 'tpu-vm' })],
  },
  'a node of a queued resource is deleted through it': {
    requests: [request('q', {})],
    nodes: [node('q', 'q')],
    want: [ref('q'), ref('q')],
  },
  'a queued resource says how many nodes it will have': {
    requests: [request('q', { multisliceParams: { nodeCount: 3, nodeIdPrefix: 'q' } })],
    want: [ref('q', of(3))],
  },
  'a queued resource has as many nodes as it names, once they are made': {
    requests: [request('q', {}, {})],
    want: [ref('q', of(2))],
  },
  'nodes that are left of a gang are deleted as the gang that its highest number tells of': {
    nodes: [node('q-0', 'q'), node('q-2', 'q'), node('q-1', 'q')],
    want: [ref('q', of(3)), ref('q', of(3)), ref('q', of(3))],
  },
  'a gang that has lost its last node is as large as its request says': {
    requests: [request('q', {}, {}, {})],
    nodes: [node('q-0', 'q')],
    want: [ref('q', of(3)), ref('q', of(3))],
  },
  'a gang of more than ten nodes has numbers of two digits': {
    nodes: [node('q-11', 'q')],
    want: [ref('q', of(12))],
  },
  'a gang of another zone is another one': {
    nodes: [node('q-0', 'q'), node('q-3', 'q', 'y')],
    want: [ref('q', of(1)), ref('q', { zone: 'y', ...of(4) })],
  },
  'a node that is not numbered by its request is none of a gang': {
    nodes: [node('qx-1', 'q'), node('q-1000', 'q'), node('q-1a', 'q'), node('q-a1', 'q'), node('other', 'q')],
    want: ['qx-1', 'q-1000', 'q-1a', 'q-a1', 'other'].map((name) => ref(name)),
  },
  'what carries no label of ours is not ours': {
    requests: [{ name: path('queuedResources/q'), tpu: { nodeSpec: [{ node: {} }] } }, { name: path('x/y') }],
    nodes: [{ name: path('nodes/n') }],
    want: [],
  },
};

describe('what a listing of a zone holds of ours', () => {
  for (const [name, { requests = [], nodes = [], want }] of Object.entries(cases))
    it(name, () =>
      assert.deepEqual(
        ownedIn(requests, nodes),
        want.map((each) => ({ ref: each, ownership: ownership() })),
      ),
    );
});

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from '../../../cloud/machines/kubernetes/cluster.js';
import { eachOf } from '../../../domain/each-of.js';

const VERSION = '0.8.0';
/** The label that chooses the nodes of one lane. */
const LANE = 'jobctl.test/lane';
/** kwok serves the nodes with this annotation, and their pods. */
const SERVED = { 'kwok.x-k8s.io/node': 'fake' };
const TAINT = { key: 'jobctl.test/kwok', effect: 'NoSchedule' };
const NODES_AT_ONCE = 16;

/** What a job asks for, so that its pods run on the nodes of one lane. */
export const inLane = (lane: string) => ({
  node_selector: { [LANE]: lane },
  tolerations: [{ key: TAINT.key, operator: 'Exists' }],
});

/** What becomes of nodes and pods, in kwok's own words. Without `pod-complete`, which ends the pods of every Job. */
const STAGES = ['node/fast/node-initialize.yaml', 'pod/fast/pod-ready.yaml', 'pod/fast/pod-delete.yaml'];

interface Kwok {
  readonly program: string;
  readonly stages: string;
}

/** Of Go's module proxy, built once (some minutes). */
function buildKwok(): Kwok {
  const folder = join(homedir(), '.cache/kwok', VERSION);
  const kwok = { program: join(folder, 'kwok'), stages: join(folder, 'stages.yaml') };
  if (existsSync(kwok.program) && existsSync(kwok.stages)) return kwok;
  mkdirSync(folder, { recursive: true });
  const env = { ...process.env, GOBIN: folder, GOFLAGS: '-mod=mod', GOSUMDB: 'off' };
  execFileSync('go', ['install', `sigs.k8s.io/kwok/cmd/kwok@v${VERSION}`], { env, stdio: 'pipe' });
  const modules = execFileSync('go', ['env', 'GOMODCACHE'], { encoding: 'utf8' }).trim();
  const source = join(modules, `sigs.k8s.io/kwok@v${VERSION}`, 'kustomize/stage');
  writeFileSync(kwok.stages, STAGES.map((file) => readFileSync(join(source, file), 'utf8')).join('\n---\n'));
  return kwok;
}

/** Starts kwok on a cluster: fake nodes whose pods run without a process, beside the cluster's own scheduler and controllers. */
export async function startKwok(kubeconfig: string): Promise<() => Promise<void>> {
  const { program, stages } = buildKwok();
  const child = spawn(
    program,
    [
      ...[
        '--kubeconfig',
        kubeconfig,
        '--config',
        stages,
        '--manage-all-nodes=false',
        '--node-lease-duration-seconds=40',
      ],
      `--manage-nodes-with-annotation-selector=${Object.entries(SERVED)
        .map((pair) => pair.join('='))
        .join(',')}`,
    ],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'exit');
  return async () => {
    child.kill();
    await ended;
  };
}

/** Nodes of one GPU each. @returns their names */
export async function makeNodes({ core }: Cluster, lane: string, count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, index) => `jobctl-kwok-${lane}-${index}`);
  const room = { cpu: '4', memory: '16Gi', pods: '10', 'nvidia.com/gpu': '1' };
  await eachOf(names, NODES_AT_ONCE, async (name) => {
    await core.deleteNode({ name }).catch(() => undefined);
    await core.createNode({
      body: {
        metadata: { name, labels: { [LANE]: lane }, annotations: SERVED },
        spec: { taints: [TAINT] },
        status: { capacity: room, allocatable: room },
      },
    });
  });
  return names;
}

export async function removeNodes({ core }: Cluster, names: readonly string[]): Promise<void> {
  await eachOf(names, NODES_AT_ONCE, async (name) => void (await core.deleteNode({ name }).catch(() => undefined)));
}

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from '../../../cloud/machines/kubernetes/cluster.js';
import { eachOf } from '../../../domain/semaphore.js';

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

/**
 * kwok watches from resourceVersion 0, which an API server with WatchList asks of etcd as a stream. An etcd older than 3.4.31
 * (Debian has 3.4.23) cannot, and the API server refuses each watch: kwok then lists with a back-off of up to 30 s, and its pods
 * start and end that late. A kubelet's watch begins at the version that it has listed, and so does kwok's with this.
 */
const WATCH = {
  file: 'pkg/utils/informer/informer.go',
  from: `			opt.setup(&opts)
			return listWatch.WatchWithContext(ctx, opts)`,
  to: `			listed := opts.ResourceVersion
			opt.setup(&opts)
			opts.ResourceVersion = listed
			return listWatch.WatchWithContext(ctx, opts)`,
  times: 2,
};

/** Of Go's module proxy, built once (some minutes). */
function buildKwok(): Kwok {
  const folder = join(homedir(), '.cache/kwok', `${VERSION}-watch`);
  const kwok = { program: join(folder, 'kwok'), stages: join(folder, 'stages.yaml') };
  if (existsSync(kwok.program) && existsSync(kwok.stages)) return kwok;
  const env = { ...process.env, GOFLAGS: '-mod=mod', GOSUMDB: 'off' };
  const go = (cwd: string, ...words: string[]): string => execFileSync('go', words, { cwd, env, encoding: 'utf8' });
  const source = join(folder, 'source');
  rmSync(source, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { Dir: module } = JSON.parse(go(folder, 'mod', 'download', '-json', `sigs.k8s.io/kwok@v${VERSION}`)) as {
    readonly Dir: string;
  };
  // A module's folder is read-only, and copies of its folders would be too.
  execFileSync('cp', ['-r', '--no-preserve=mode', module, source]);
  const code = readFileSync(join(source, WATCH.file), 'utf8').split(WATCH.from);
  assert.equal(code.length - 1, WATCH.times, `${WATCH.file} of kwok ${VERSION}`);
  writeFileSync(join(source, WATCH.file), code.join(WATCH.to));
  go(source, 'build', '-o', kwok.program, './cmd/kwok');
  const stages = STAGES.map((file) => readFileSync(join(source, 'kustomize/stage', file), 'utf8'));
  writeFileSync(kwok.stages, stages.join('\n---\n'));
  rmSync(source, { recursive: true });
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

import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stackHome } from '../../cli/terminal/home.js';
import { KUBE_NODE } from '../../test/long/kubernetes/kube-node.js';
import { debianImage } from '../../test/long/kubernetes/pod-images.js';
import { openRealCluster, type RealCluster } from '../../test/long/kubernetes/real-cluster.js';
import { figures, type Row } from '../quota/row.js';
import { JOBCTL, withLocalStack } from '../start/local-stack.js';
import { median } from '../start/statistics.js';

const WORKERS = 2;
/** CPUs of a pod, as request and limit. Set-up needs CPU time: with `10m` the bench would measure only that limit. */
const CPUS = '500m';
const AIM = 2;
const LINE = 'the first line';
const READY_MS = 120_000;

/** Measures the time to a pod's first line, with `jobctl submit --wait` and with `kubectl apply` and `kubectl logs -f`. */
export async function firstLineRows({ rounds }: { readonly rounds: number }): Promise<readonly Row[]> {
  const times = await firstLineTimes(rounds);
  const ratio = median(times.jobctl) / median(times.kubectl);
  return [
    { what: `kubectl apply, kubectl logs -f: ${WORKERS} pods`, ...figures(times.kubectl) },
    { what: 'jobctl submit --wait of the same', ...figures(times.jobctl) },
    { what: '  ratio of the medians', figure: `${ratio.toFixed(2)}x`, aim: `${AIM}x`, isMet: ratio <= AIM },
  ];
}

/** The times of both ways in ms, which run in turn. */
export async function firstLineTimes(
  rounds: number,
): Promise<Readonly<Record<'jobctl' | 'kubectl', readonly number[]>>> {
  const real = await openRealCluster('bench');
  const folder = mkdtempSync(join(tmpdir(), 'bench-kubernetes-'));
  try {
    const image = await debianImage(real.cluster);
    const job = join(folder, 'job.json');
    writeFileSync(job, JSON.stringify(fileOf(real, image)));
    return await withLocalStack(async (env) => {
      // Replaces the kubeconfig of the stack's rehearsed cluster; the worker connects at its first job.
      copyFileSync(real.kubeconfig, stackHome(env).kubeconfigFile);
      const ways = { jobctl: () => byJobctl(job, env), kubectl: () => byKubectl(real, folder, image) };
      // Not counted: the pool's workflow starts, and the node's caches fill.
      for (const way of Object.values(ways)) await way();
      const times: Record<keyof typeof ways, number[]> = { jobctl: [], kubectl: [] };
      for (let round = 0; round < rounds; round++) {
        times.jobctl.push(await ways.jobctl());
        times.kubectl.push(await ways.kubectl());
      }
      return times;
    });
  } finally {
    await real.close();
    rmSync(folder, { recursive: true });
  }
}

const fileOf = ({ namespace }: RealCluster, image: string): object => ({
  name: 'bench',
  kubernetes: { namespace, image, workers: WORKERS, cpus: CPUS },
  command: { run: `echo ${LINE}` },
});

async function byJobctl(file: string, env: NodeJS.ProcessEnv): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, [JOBCTL, 'submit', '--wait', file], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const first = await lineOf(child);
  if (first === undefined) throw new Error(`${file}: the job printed nothing`);
  return first - began;
}

async function byKubectl(real: RealCluster, folder: string, image: string): Promise<number> {
  const name = 'bench-kubectl';
  const file = join(folder, 'manifest.json');
  const container = {
    ...{ name: 'main', image, imagePullPolicy: 'Never', command: ['bash', '-lc', `echo ${LINE}`] },
    resources: { requests: { cpu: CPUS }, limits: { cpu: CPUS } },
  };
  const spec = {
    ...{ completionMode: 'Indexed', completions: WORKERS, parallelism: WORKERS, backoffLimit: 0 },
    template: { spec: { restartPolicy: 'Never', containers: [container] } },
  };
  writeFileSync(file, JSON.stringify({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec }));
  const began = performance.now();
  real.kubectl('apply', '-f', file);
  const first = await firstLine(real, name);
  real.kubectl('delete', 'job', name, '--cascade=foreground', '--wait=true');
  return first - began;
}

/** Runs `kubectl logs` until it shows the line. It ends with an error while no pod of the Job has started. */
async function firstLine(real: RealCluster, name: string): Promise<number> {
  for (const end = Date.now() + READY_MS; Date.now() < end;) {
    const child = spawn(KUBE_NODE, ['kubectl', '-n', real.namespace, 'logs', '-f', `job/${name}`], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const at = await lineOf(child);
    if (at !== undefined) return at;
  }
  throw new Error(`kubectl logs -f: no line within ${READY_MS / 1000} s`);
}

async function lineOf(child: ChildProcess): Promise<number | undefined> {
  if (!child.stdout) return undefined;
  let first: number | undefined;
  for await (const line of createInterface({ input: child.stdout }))
    if (first === undefined && line.includes(LINE)) first = performance.now();
  return first;
}

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { firstOutput } from '../../first-output.js';
import type { Cluster } from '../../../cloud/machines/kubernetes/cluster.js';
import { until } from '../../until.js';
import { KUBE_NODE } from './kube-node.js';

const VERSION = '1.5.1';
const RAY_VERSION = '2.60.0';
const CACHE = join(homedir(), '.cache');
const NODE = '/var/tmp/kube-node';

/**
 * Real Ray on a Debian, with what kube-node lacks: no proxy serves the address that pods have for the API server, and its certificate is
 * not put into pods. Ray's autoscaler can be told both. Two of Ray's processes give up after 30 s on a node as slow as one that other tests
 * run on: they are given more time. Made once, by mmdebstrap and pip.
 */
export function rayImage(): { readonly image: string; readonly version: string } {
  const rootfs = join(CACHE, 'kube-node', `ray-${RAY_VERSION}`);
  const packages = join(rootfs, 'usr/local/lib/python3.11/dist-packages');
  if (!existsSync(join(packages, 'ray'))) {
    rmSync(rootfs, { recursive: true, force: true });
    const include = '--include=python3,libstdc++6,wget,procps';
    execFileSync('mmdebstrap', ['--variant=essential', include, 'bookworm', rootfs], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const pip = ['-m', 'pip', 'install', '--quiet', '--target', packages, `ray[default]==${RAY_VERSION}`];
    execFileSync('python3.11', pip, { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  cpSync(join(NODE, 'pki/apiserver.crt'), join(rootfs, 'etc/kube-node-api.crt'));
  const services = join(packages, 'ray/_private/services.py');
  writeFileSync(services, readFileSync(services, 'utf8').replaceAll('timeout_s: float = 30', 'timeout_s: float = 300'));
  const call = 'import sys; from ray.scripts.scripts import main; sys.argv[0] = "ray"; sys.exit(main())';
  const ray = `#!/bin/sh
export KUBERNETES_SERVICE_HOST=10.210.0.254 KUBERNETES_SERVICE_PORT_HTTPS=16443 RAY_KUBERAY_CA_CERT_PATH=/etc/kube-node-api.crt
export RAY_USAGE_STATS_ENABLED=0
[ "$1" = kuberay-autoscaler ] || exec /usr/bin/python3 -c '${call}' "$@"
until /usr/bin/python3 -c '${call}' "$@"; do sleep 1; done
`;
  writeFileSync(join(rootfs, 'usr/local/bin/ray'), ray, { mode: 0o755 });
  const image = `docker.io/local/ray:${RAY_VERSION}`;
  const has = execFileSync('ctr', ['-a', `${NODE}/containerd.sock`, '-n', 'k8s.io', 'images', 'ls', '-q'], {
    encoding: 'utf8',
  });
  if (!has.split('\n').includes(image)) execFileSync(KUBE_NODE, ['image', image, rootfs], { stdio: 'pipe' });
  return { image, version: RAY_VERSION };
}

interface Operator {
  readonly program: string;
  /** A folder of its resource definitions. */
  readonly definitions: string;
}

/** Of Go's module proxy, built once (4 min). */
function buildOperator(): Operator {
  const env = { ...process.env, GOFLAGS: '-mod=mod', GOSUMDB: 'off' };
  const modules = execFileSync('go', ['env', 'GOMODCACHE'], { encoding: 'utf8' }).trim();
  const source = join(modules, `github.com/ray-project/kuberay/ray-operator@v${VERSION}`);
  const folder = join(CACHE, 'kuberay', VERSION);
  const operator = { program: join(folder, 'operator'), definitions: join(source, 'config/crd/bases') };
  if (!existsSync(source))
    execFileSync('go', ['mod', 'download', `github.com/ray-project/kuberay/ray-operator@v${VERSION}`], {
      env,
      stdio: 'pipe',
    });
  if (existsSync(operator.program)) return operator;
  mkdirSync(folder, { recursive: true });
  const copy = join(folder, 'source');
  cpSync(source, copy, { recursive: true });
  execFileSync('chmod', ['-R', 'u+w', copy]);
  execFileSync('go', ['build', '-p', '2', '-o', operator.program, '.'], { env, cwd: copy, stdio: 'pipe' });
  rmSync(copy, { recursive: true });
  return operator;
}

/** KubeRay's real operator, for the RayClusters of one namespace. */
export interface Kuberay {
  readonly image: string;
  readonly version: string;
  /** As a crash of its node does. */
  kill(): Promise<void>;
  /** Again, after `kill`. */
  start(): void;
  stop(): Promise<void>;
}

export async function startKuberay({ custom }: Cluster, kubeconfig: string, namespace: string): Promise<Kuberay> {
  const { program, definitions } = buildOperator();
  const image = rayImage();
  const kubectl = (...words: string[]): string =>
    execFileSync(KUBE_NODE, ['kubectl', ...words], { encoding: 'utf8', stdio: 'pipe' });
  // Too long for `apply`, which keeps a copy in an annotation.
  if (!kubectl('get', 'crds', '-o', 'name').includes('rayclusters.ray.io')) kubectl('create', '-f', definitions);
  await until('the API server knows RayClusters', () =>
    custom
      .listNamespacedCustomObject({ group: 'ray.io', version: 'v1', plural: 'rayclusters', namespace })
      .catch(() => undefined),
  );
  const dns = await startDns(kubeconfig);
  const log = openSync(`/tmp/kuberay-${namespace}.log`, 'w');
  const options = [
    '-enable-leader-election=false',
    '-metrics-addr',
    '127.0.0.1:0',
    '-health-probe-bind-address',
    '127.0.0.1:0',
  ];
  const run = (): ChildProcess =>
    spawn(program, [...options, '-watch-namespace', namespace], {
      env: { ...process.env, KUBECONFIG: kubeconfig },
      stdio: ['ignore', log, log],
    });
  let operator = run();
  const kill = async (): Promise<void> => {
    const ended = once(operator, 'exit');
    if (operator.kill('SIGKILL')) await ended;
  };
  return {
    ...image,
    kill,
    start: () => (operator = run()),
    stop: async () => {
      await kill();
      dns.kill();
    },
  };
}

/** In the network namespace of the node, which has neither a cluster DNS nor a way for pods to the API server. */
async function startDns(kubeconfig: string): Promise<ChildProcess> {
  const inNode = (...words: string[]): string =>
    execFileSync('nsenter', ['--net=/run/netns/kube-node', ...words], { encoding: 'utf8', stdio: 'pipe' });
  const server = /^nameserver (\S+)/m.exec(readFileSync('/etc/resolv.conf', 'utf8'))?.[1] ?? '';
  if (!inNode('ip', 'addr', 'show', 'lo').includes(server)) inNode('ip', 'addr', 'add', `${server}/32`, 'dev', 'lo');
  const masquerade = ['POSTROUTING', '-s', '10.200.0.0/24', '-d', '10.210.0.254', '-j', 'MASQUERADE'];
  if (!inNode('iptables', '-t', 'nat', '-S').includes('-d 10.210.0.254/32'))
    inNode('iptables', '-t', 'nat', '-A', ...masquerade);
  const kubectl = join(CACHE, 'kube-node/1.34.4/kubectl');
  const script = join(import.meta.dirname, 'pod-dns.py');
  const child = spawn('nsenter', ['--net=/run/netns/kube-node', 'python3', script, server, kubectl], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await firstOutput(child);
  return child;
}

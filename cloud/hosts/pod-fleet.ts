import type { V1Pod } from '@kubernetes/client-node';
import { Semaphore } from '../../domain/semaphore.js';
import { CONTAINER } from '../../domain/machine-kinds/kubernetes/words.js';
import type { Cluster } from '../machines/kubernetes/cluster.js';
import { abortable, answerWithin } from '../abort.js';
import { apiFailureOf } from '../machines/kubernetes/api-failure.js';
import { createFleet, type Fleet } from './host-fleet.js';
import { type PodTarget, HostUnfit, HostUnreachable } from './port.js';
import {
  describePod,
  type HostLink,
  type ExecOptions,
  type ExecResult,
  ConnectionLost,
  NoChannel,
} from './remote-exec.js';
import { ExecRefused, podExec } from './pod-exec.js';

interface PodHostsOptions {
  /** Time for which the link to a pod without holders is kept. */
  readonly idleMs?: number;
  /** Seconds between two looks at a run's output. */
  readonly followPollSeconds?: number;
  /** Limit of pods that are looked at for the first time at once. */
  readonly maxConnecting?: number;
}

const DEFAULTS = { idleMs: 60_000, followPollSeconds: 0.2, maxConnecting: 64 } as const;

/** Opens the cluster of a kubeconfig's context; undefined: the default context. */
type OpenCluster = (context: string | undefined) => Promise<Cluster>;

/** The pods of clusters. Each cluster is opened when its first pod is needed. */
export function createPodHosts(openCluster: OpenCluster, options: PodHostsOptions = {}): Fleet<PodTarget> {
  const { idleMs, followPollSeconds, maxConnecting } = { ...DEFAULTS, ...options };
  const connecting = new Semaphore(maxConnecting);
  const opened = new Map<string | undefined, Promise<Cluster>>();
  function open(context: string | undefined): Promise<Cluster> {
    const known = opened.get(context);
    if (known) return known;
    const opening = openCluster(context).catch((error: unknown) => {
      // The kubeconfig may be written later.
      opened.delete(context);
      throw error;
    });
    opened.set(context, opening);
    return opening;
  }
  return createFleet<PodTarget>({
    link: (target) => new PodLink(target, () => open(contextOf(target)), connecting),
    hostName: ({ podUid }) => podUid,
    loginName: () => 'exec',
    idleMs,
    follow: { pollSeconds: followPollSeconds, useInotify: false },
  });
}

/** The kubeconfig's context that the job file names. */
export const contextOf = ({ ref }: PodTarget): string | undefined =>
  ref !== undefined && 'context' in ref ? ref.context : undefined;

/** Concurrent execs, like sessions of an SSH connection: each is a connection through the API server and the kubelet. */
const COMMANDS_AT_ONCE = 5;
const FOLLOWERS_AT_ONCE = 4;
const LOOK_MS = 20_000;
const CHECK_MS = 60_000;

/**
 * The connection to one pod: every command is a separate exec. A failure (of the API server, the kubelet, a proxy between) only
 * breaks that exec; the job's own command is not its child (docs/adr/0066).
 */
export class PodLink implements HostLink {
  readonly target: PodTarget;
  readonly over = 'over an exec';
  readonly #cluster: () => Promise<Cluster>;
  readonly #connecting: Semaphore;
  readonly #commands = new Semaphore(COMMANDS_AT_ONCE);
  readonly #followers = new Semaphore(FOLLOWERS_AT_ONCE);
  readonly #underWay = new Set<AbortController>();
  #isClosed = false;
  #opened: Promise<void> | undefined;

  /** @param connecting shared by all links of a fleet: limits the concurrent first looks */
  constructor(target: PodTarget, cluster: () => Promise<Cluster>, connecting: Semaphore) {
    [this.target, this.#cluster, this.#connecting] = [target, cluster, connecting];
  }

  get where(): string {
    return describePod(this.target);
  }

  /**
   * Checks that the pod exists, has the expected uid, runs its container, has the needed programs in its image, and answers. The
   * last is needed because the cluster calls a pod Running for most of a minute after its kubelet has died.
   */
  open(): Promise<void> {
    if (this.#isClosed)
      return Promise.reject(new HostUnreachable(`${this.where} cannot be reached: its connection was released here`));
    const opening = (this.#opened ??= this.#connecting.run(() => this.#look()));
    opening.catch(() => this.#forget(opening));
    return opening;
  }

  async exec(command: string, options: ExecOptions = {}, use: 'command' | 'follow' = 'command'): Promise<ExecResult> {
    const slots = use === 'follow' ? this.#followers : this.#commands;
    // Not AbortSignal.any: Node 20 keeps its result as long as the sources live, or drops it too early.
    const ended = new AbortController();
    const work = async (): Promise<ExecResult> => {
      ended.signal.throwIfAborted();
      await this.open();
      return this.#exec(command, { ...options, signal: ended.signal });
    };
    this.#underWay.add(ended);
    try {
      // The signal also ends the wait for a slot.
      const done = abortable(slots.run(work), ended.signal);
      return await abortable(done, options.signal, () => ended.abort(options.signal?.reason));
    } finally {
      this.#underWay.delete(ended);
    }
  }

  close(): void {
    this.#isClosed = true;
    const released = new HostUnreachable(`${this.where} was lost: its connection was released here`);
    for (const work of this.#underWay) work.abort(released);
  }

  async #exec(command: string, options: ExecOptions): Promise<ExecResult> {
    const opened = this.#opened;
    try {
      return await podExec(await this.#cluster(), this.target, CONTAINER, command, options);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      // The next look gets Kubernetes' reason.
      this.#forget(opened);
      const what = error instanceof NoChannel ? 'cannot be reached' : 'was lost';
      throw new HostUnreachable(`${this.where} ${what}: ${explained(error)}`, { cause: error });
    }
  }

  #forget(opened: Promise<void> | undefined): void {
    if (this.#opened === opened) this.#opened = undefined;
  }

  async #look(): Promise<void> {
    const pod = await this.#read();
    const trouble = troubleOf(pod, this.target.podUid);
    if (trouble !== undefined) throw new HostUnreachable(`${this.where} cannot be reached: ${trouble}`);
    const image = pod.spec?.containers.find(({ name }) => name === CONTAINER)?.image ?? 'of the pod';
    const { code, stdout, stderr } = await answerWithin(CHECK_MS, (signal) => this.#exec(NEEDS_SCRIPT, { signal }));
    if (code !== 0)
      throw new HostUnreachable(`${this.where}: its image cannot be checked (code ${code}): ${stderr.trim()}`);
    const unfit = unfitImage(image, stdout.toString());
    if (unfit !== undefined) throw new HostUnfit(`${this.where}: ${unfit}`);
  }

  async #read(): Promise<V1Pod> {
    const { namespace, pod: name } = this.target;
    try {
      const { core } = await this.#cluster();
      return await answerWithin(LOOK_MS, () => core.readNamespacedPod({ namespace, name }));
    } catch (error) {
      throw new HostUnreachable(`${this.where} cannot be reached: ${apiFailureOf(error).message}`, { cause: error });
    }
  }
}

/** For 403 the API server names verb and resource; this adds the missing rule. */
function explained(error: ConnectionLost): string {
  if (!(error instanceof ExecRefused) || error.code !== 403) return error.message;
  return `${error.message}; its role needs the verbs get and create on pods/exec`;
}

/** The reason why no command can run in an existing pod, or undefined if one can. */
function troubleOf({ metadata, status }: V1Pod, uid: string): string | undefined {
  if (metadata?.uid !== uid) return `it is another pod of the same name (uid ${metadata?.uid}, not ${uid})`;
  const { state } = status?.containerStatuses?.find(({ name }) => name === CONTAINER) ?? {};
  if (state?.running) return undefined;
  const why = [status?.reason, status?.message].filter((text) => text !== undefined && text !== '').join(': ');
  const phase = `the pod is ${status?.phase ?? 'of no phase'}${why === '' ? '' : ` (${why})`}`;
  if (state?.terminated) {
    const { exitCode, reason, message } = state.terminated;
    return `its container has ended with code ${exitCode} (${[reason, message?.trim()].filter(Boolean).join(': ')}); ${phase}`;
  }
  const { reason, message } = state?.waiting ?? {};
  return `its container does not run yet (${[reason ?? 'no state', message].filter(Boolean).join(': ')}); ${phase}`;
}

/**
 * Programs that the on-host runner and a command need in a pod's image (docs/runner.md), with the package of each. A VM of Cloud
 * TPU has all of them. Programs of busybox have the names but lack options that are tested below.
 */
const TOOLS: Readonly<Record<string, string>> = {
  bash: 'bash',
  flock: 'util-linux',
  setsid: 'util-linux',
  awk: 'mawk or gawk',
  find: 'findutils',
  grep: 'grep',
  sed: 'sed',
  ...Object.fromEntries(
    [
      ...[
        'base64',
        'cat',
        'chmod',
        'cp',
        'cut',
        'date',
        'dd',
        'dirname',
        'head',
        'id',
        'mkdir',
        'mkfifo',
        'mv',
        'paste',
        'rm',
      ],
      ...['sha256sum', 'sleep', 'sort', 'stat', 'sync', 'tail', 'timeout', 'tr', 'wc'],
    ].map((tool) => [tool, 'coreutils']),
  ),
};

/** Options of GNU's programs that others lack, each with a test. */
const OPTIONS: Readonly<Record<string, string>> = {
  'coreutils: date +%s%3N': 'case $(date +%s%3N) in *[!0-9]* | "") false ;; esac',
  'coreutils: stat -c %.3Y': 'case $(LC_ALL=C stat -c %.3Y /) in *.*) ;; *) false ;; esac',
  'coreutils: tail --pid': 'tail --pid=$$ -c +1 /dev/null',
  'util-linux: setsid -f': 'setsid -f true',
  'grep: grep -z': 'printf "a\\0b" | grep -qzFx -e b',
  'bash 4.4 or later': "bash -c '[ $((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1])) -ge 404 ]'",
};

/** Prints a line for each missing program or option, and nothing if all are there. Written in sh without any other program. */
export const NEEDS_SCRIPT = [
  'missing=',
  `for need in ${Object.entries(TOOLS)
    .map(([tool, from]) => `'${tool} (${from})'`)
    .join(' ')}; do command -v "\${need%% *}" > /dev/null || { echo "$need"; missing=yes; }; done`,
  '[ -z "$missing" ] || exit 0',
  ...Object.entries(OPTIONS).map(([what, test]) => `{ ${test}; } > /dev/null 2>&1 || echo '${what}'`),
  '{ mkdir -p "$HOME/.jobctl" && : > "$HOME/.jobctl/writable"; } 2> /dev/null || echo "a home folder that its user may write in: HOME is \'$HOME\'"',
].join('\n');

/** @param lines the script's output */
export function unfitImage(image: string, lines: string): string | undefined {
  const missing = lines.split('\n').filter((line) => line !== '');
  if (missing.length === 0) return undefined;
  return (
    `image ${image} lacks what jobctl's runner needs: ${missing.join(', ')}; ` +
    'install it in the image (Debian: apt-get install -y bash coreutils findutils grep sed mawk util-linux)'
  );
}

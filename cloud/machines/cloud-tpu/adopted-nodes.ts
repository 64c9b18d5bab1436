import { messageOf } from '../../../domain/errors.js';
import { findAccelerator } from '../../../domain/accelerators.js';
import {
  type Adoption,
  fitOf,
  isDeletedAfter,
  isOfAdopter,
  labelsWith,
  labelsWithout,
  type NodeFacts,
} from '../../../domain/machine-kinds/cloud-tpu/adoption.js';
import { ownKeyLine } from '../../../domain/machine-kinds/cloud-tpu/plan.js';
import type { CloudTpuPlan, CloudTpuRef } from '../../../domain/machine-kinds/cloud-tpu/words.js';
import type { Condition, CreateAnswer, Owner, Ownership, SliceHost } from '../../../domain/slice.js';
import { answerWithin } from '../../abort.js';
import type { Fleet } from '../../hosts/host-fleet.js';
import type { MachineVerbs } from '../../hosts/machine-verbs.js';
import { type SshKey, type SshTarget, targetOf } from '../../hosts/port.js';
import type { KeyedJob } from '../../job-keys/port.js';
import { CloudRefused, CloudUnavailable, type RemoveAnswer } from '../port.js';
import { Code, classifyCreateError, failedCreate } from './classify-error.js';
import { conditionOf, type Observation } from './condition.js';
import { nodePath } from './create-request.js';
import { type ApiNode, isOver, observedNode, type ObservedNode, pathParts } from './observation.js';
import { CallFailed, type TpuApi } from './tpu-api.js';

/** The way into the hosts of nodes that jobctl did not make. */
export interface AdoptedHosts {
  readonly fleet: Pick<Fleet<SshTarget>, 'connect'>;
  /** The key that an OpenSSH line lets in, if it is that job's or the installation's. */
  keyOf(job: KeyedJob, publicKey: string): SshKey | undefined;
}

const UPDATE_MS = 15_000;
const VISIT_MS = 20_000;
/** The job has already ended its command; this is for processes that it left behind. */
const GRACE_MS = 5_000;
const LEAVE_MS = 45_000;
/** Hosts that let nobody in for so long after the key was put there will not. Until then nothing of the job ran on them. */
const UNREACHED_MS = 10 * 60_000;
const KEYS = 'ssh-keys';

/**
 * TPU VMs that somebody made by hand, as slices (docs/adr/0179). Adopting is: the marks and the job's key are put on the node in
 * one update, each host is claimed and looked at, and the node is marked as taken. Every step may be repeated by another worker.
 */
export class AdoptedNodes {
  readonly #api: TpuApi;
  readonly #hosts: () => AdoptedHosts | undefined;
  /** One at a time for each node, however many callers ask. */
  readonly #leaving = new Map<string, Promise<readonly string[]>>();

  /** @param hosts absent: this process has no way into hosts, and adopts nothing */
  constructor(api: TpuApi, hosts: (() => AdoptedHosts) | undefined) {
    this.#api = api;
    this.#hosts = () => hosts?.();
  }

  /** Goes on towards the adoption: another call continues from what the node and its hosts show. Never rejects. */
  async take(plan: CloudTpuPlan): Promise<CreateAnswer> {
    try {
      return await this.#take(plan);
    } catch (error) {
      // The reads before a step failed, so the step was not begun.
      if (error instanceof CloudRefused) return { kind: 'refused', scope: 'installation', message: error.message };
      return { kind: error instanceof CloudUnavailable ? 'not-yet' : 'unanswered', message: messageOf(error) };
    }
  }

  async #take(plan: CloudTpuPlan): Promise<CreateAnswer> {
    const { ref, ownership } = plan;
    const [user = '', publicKey = ''] = halves(ownKeyLine(plan));
    const key = this.#hosts()?.keyOf({ id: ownership.job, run: ownership.run }, publicKey);
    if (key === undefined)
      return refused('this worker has no key for the hosts: a job with ssh.private_key adopts no node');
    const node = await this.#read(ref);
    if (node === undefined) return refused(`there is no node ${nodePath(ref)}`);
    const seen = observedNode(node);
    const mine = isThisSlice(seen.adoption, ref, ownership) ? seen.adoption : undefined;
    if (mine?.state === 'taken') return { kind: 'accepted' };
    if (mine !== undefined) return this.#claim({ plan, node, seen, mine, login: { user, key } });
    const fit = fitOf(plan, factsOf(node), findAccelerator(plan.accelerator)?.topology);
    if (fit.kind === 'no') return refused(fit.message);
    if (fit.kind === 'later') return { kind: 'not-yet', message: fit.message, isUntouched: true };
    const { owner, job, run, generation, spec } = ownership;
    const marks: Adoption = {
      ...{ owner, job, run, generation, spec, slice: ref.name },
      ...{ state: 'taking', since: Date.now() },
    };
    const keys = [...linesOf(node).filter((line) => line !== ownKeyLine(plan)), ownKeyLine(plan)].join('\n');
    const change = { labels: labelsWith(labelsOf(node), marks), metadata: { ...node.metadata, [KEYS]: keys } };
    const updated = await this.#update(ref, change, 'its owner’s word was found, and the node is being marked');
    return updated ?? { kind: 'not-yet', message: 'the node is marked, and its hosts are entered next' };
  }

  /** Claims and inspects each host of a node that bears the marks. */
  async #claim({ plan, node, seen, mine, login }: Taking): Promise<CreateAnswer> {
    const { ref, ownership } = plan;
    // A host that is not listed yet would be without the claim.
    if (seen.hosts.length < (seen.hostCount ?? 1))
      return { kind: 'not-yet', message: 'the node has no addresses of all its hosts yet' };
    const problems: string[] = [];
    const silent = await this.#visitAll(ref, seen, login, VISIT_MS, async (verbs, host) => {
      const id = claimId(ref, ownership);
      const answer = await verbs.claim(id, `${id}\n${ref.name}\n`, ownership.job);
      if (answer.kind !== 'claimed') {
        const by = answer.kind === 'taken' ? answer.claim.trim() : 'a slice that has given it back';
        problems.push(`host ${host.index} is claimed by ${by}`);
        return;
      }
      const found = await verbs.inspect({ accelerator: { type: plan.accelerator, count: 'any', maker: 'TPU' } });
      const wrong = [...(found.busy === undefined ? [] : [found.busy]), ...found.problems];
      for (const each of wrong) problems.push(`host ${host.index}: ${each}`);
    });
    if (problems.length > 0) return refused(`node ${ref.adopts} cannot be used as it is: ${problems.join('; ')}`);
    const isLate = Date.now() - mine.since >= UNREACHED_MS;
    if (silent.length > 0 && isLate) return refused(`jobctl cannot enter node ${ref.adopts}: ${silent.join('; ')}`);
    if (silent.length > 0)
      return { kind: 'not-yet', message: `the node does not let jobctl in yet: ${silent.join('; ')}` };
    const labels = labelsWith(labelsOf(node), { ...mine, state: 'taken' });
    return (await this.#update(ref, { labels }, 'its hosts are claimed')) ?? { kind: 'accepted' };
  }

  /** Gives the node back: the job's processes, files, key and marks go. Deletes it only by its owner's word. Never rejects. */
  async giveBack(ref: CloudTpuRef, owner: Owner): Promise<RemoveAnswer> {
    try {
      return await this.#giveBack(ref, owner);
    } catch (error) {
      return { kind: error instanceof CloudRefused ? 'refused' : 'unanswered', message: messageOf(error) };
    }
  }

  async #giveBack(ref: CloudTpuRef, owner: Owner): Promise<RemoveAnswer> {
    const node = await this.#read(ref);
    if (node === undefined) return { kind: 'gone' };
    const seen = observedNode(node);
    const isMine = isOfAdopter(seen.adoption, owner) && seen.adoption?.slice === ref.name;
    // A person may have removed the labels, under which the job's key stayed.
    const logins = isMine || seen.adoption === undefined ? this.#loginsIn(node, owner) : [];
    if ((!isMine && logins.length === 0) || isOver(seen.state)) return { kind: 'gone' };
    if (seen.state === 'DELETING') return { kind: 'accepted' };
    if (isMine && isDeletedAfter(labelsOf(node), owner.run)) return this.#delete(ref, node);
    const stillThere = seen.state === 'READY' ? await this.#leaveAll(ref, seen, owner, logins) : [];
    const isUnused = seen.adoption?.state === 'taking' && Date.now() - seen.adoption.since >= UNREACHED_MS;
    if (stillThere.length > 0 && !isUnused) return { kind: 'unanswered', message: stillThere.join('; ') };
    const ours = new Set(logins.map(({ line }) => line));
    const keys = linesOf(node).filter((line) => !ours.has(line));
    const { [KEYS]: _, ...others } = node.metadata ?? {};
    const metadata = keys.length === 0 ? others : { ...others, [KEYS]: keys.join('\n') };
    return this.#removalOf(() =>
      this.#api.updateNode({ name: nodePath(ref), labels: labelsWithout(labelsOf(node), owner.run), metadata }, [
        'labels',
        'metadata',
      ]),
    );
  }

  async #delete(ref: CloudTpuRef, { queuedResource }: ApiNode): Promise<RemoveAnswer> {
    if (!queuedResource) return this.#removalOf(() => this.#api.deleteNode(nodePath(ref)));
    const request = await this.#api.getQueuedResource(queuedResource);
    // A forced delete takes all nodes of a request, and the owner's word was about one.
    if ((request?.tpu?.nodeSpec?.length ?? 0) > 1) return this.#removalOf(() => this.#api.deleteNode(nodePath(ref)));
    return this.#removalOf(() => this.#api.deleteQueuedResource(queuedResource));
  }

  async #removalOf(call: () => ReturnType<TpuApi['updateNode']>): Promise<RemoveAnswer> {
    try {
      const { name, error } = await call();
      if (error !== undefined) return { kind: 'unanswered', message: error.message };
      return { kind: 'accepted', ...(name !== undefined && { operation: name }) };
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      return { kind: 'unanswered', message: messageOf(error) };
    }
  }

  #leaveAll(ref: CloudTpuRef, seen: ObservedNode, owner: Owner, logins: readonly Login[]): Promise<readonly string[]> {
    const [login] = logins;
    // Without a key on the node nobody of ours can be in, or come in.
    if (login === undefined) return Promise.resolve([]);
    const underWay = this.#leaving.get(ref.name);
    if (underWay) return underWay;
    const leaving = this.#visitAll(ref, seen, login, LEAVE_MS, async (verbs) => {
      await verbs.leave(claimId(ref, owner), GRACE_MS);
    }).finally(() => this.#leaving.delete(ref.name));
    this.#leaving.set(ref.name, leaving);
    return leaving;
  }

  /** @returns a sentence for each host that did not answer */
  async #visitAll(
    ref: CloudTpuRef,
    { nodeId: uid, hosts }: ObservedNode,
    { user, key }: Pick<Login, 'user' | 'key'>,
    timeoutMs: number,
    work: (verbs: MachineVerbs, host: SliceHost) => Promise<void>,
  ): Promise<readonly string[]> {
    const visits = hosts.map(async (host): Promise<readonly string[]> => {
      const go = async (late: AbortSignal): Promise<void> => {
        const fleet = this.#hosts()?.fleet;
        if (fleet === undefined) throw new CloudRefused('this process has no way into hosts');
        const target = targetOf(host, { ref, uid, slice: 0, user }) as SshTarget;
        const connection = await fleet.connect(target, key, late);
        try {
          late.throwIfAborted();
          await work(connection.machine, host);
        } finally {
          connection.close();
        }
      };
      try {
        await answerWithin(timeoutMs, go);
        return [];
      } catch (error) {
        return [`host ${host.index}: ${messageOf(error)}`];
      }
    });
    return (await Promise.all(visits)).flat();
  }

  /** @returns undefined when the update is done, or the answer for a call that must be made again */
  async #update(
    ref: CloudTpuRef,
    change: Pick<ApiNode, 'labels' | 'metadata'>,
    message: string,
  ): Promise<CreateAnswer | undefined> {
    const node = { ...change, name: nodePath(ref) };
    try {
      const { name, error } = await this.#api.updateNode(node, Object.keys(change));
      if (error) return failedCreate(error);
      const end = Date.now() + UPDATE_MS;
      for (let pauseMs = 100; name !== undefined && Date.now() < end; pauseMs = Math.min(pauseMs * 2, 2_000)) {
        const operation = await this.#api.getOperation(name);
        if (operation?.done === true && operation.error)
          return failedCreate({ code: operation.error.code ?? Code.Unknown, message: operation.error.message ?? '' });
        if (operation?.done === true) return undefined;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
      return { kind: 'not-yet', message };
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      // Another update of the node is under way.
      if (error.error.code === Code.Aborted) return { kind: 'not-yet', message: error.message };
      return classifyCreateError(error.error);
    }
  }

  #read(ref: CloudTpuRef): Promise<ApiNode | undefined> {
    return this.#api.getNode(nodePath(ref));
  }

  /** The lines of `ssh-keys` that let this job's worker in. */
  #loginsIn(node: ApiNode, { job, run }: Owner): readonly Login[] {
    return linesOf(node).flatMap((line) => {
      const [user = '', publicKey = ''] = halves(line);
      const key = this.#hosts()?.keyOf({ id: job, run }, publicKey);
      return key === undefined ? [] : [{ line, user, key }];
    });
  }
}

interface Login {
  readonly line: string;
  readonly user: string;
  readonly key: SshKey;
}

interface Taking {
  readonly plan: CloudTpuPlan;
  readonly node: ApiNode;
  readonly seen: ObservedNode;
  readonly mine: Adoption;
  readonly login: Pick<Login, 'user' | 'key'>;
}

/** The same for every worker, so that a claim that was made is found again. */
const claimId = ({ name }: CloudTpuRef, { run }: Owner): string => `${name}.${run}`;

const isThisSlice = (found: Adoption | undefined, { name }: CloudTpuRef, wanted: Owner | Ownership): boolean =>
  isOfAdopter(found, wanted) && found?.slice === name;

/**
 * The condition of an adoption. `missing` with `isRequestLeft`: the marks are there, and the hosts are not all claimed.
 * @param node as it was seen, by itself or in a listing
 */
export function adoptedCondition(ref: CloudTpuRef, wanted: Owner | Ownership, node: Observation['node']): Condition {
  if (typeof node === 'string' || !isThisSlice(node.adoption, ref, wanted)) return { kind: 'missing' };
  if (node.adoption?.state !== 'taken') return { kind: 'missing', isRequestLeft: true };
  const claim = claimId(ref, wanted);
  const hosts = node.hosts.map((host) => ({ ...host, claim }) as SliceHost);
  return conditionOf({ at: 0, queuedResource: 'unused', node: { ...node, hosts, ownership: node.adoption } }, wanted);
}

const refused = (message: string): CreateAnswer => ({ kind: 'refused', scope: 'request', message });
const labelsOf = ({ labels }: ApiNode): Readonly<Record<string, string>> => labels ?? {};
const linesOf = ({ metadata }: ApiNode): readonly string[] =>
  (metadata?.[KEYS] ?? '').split('\n').filter((line) => line.trim() !== '');

/** `USER:KEY` in its two parts. */
const halves = (line: string): readonly string[] => [
  line.slice(0, line.indexOf(':')),
  line.slice(line.indexOf(':') + 1),
];

function factsOf(node: ApiNode): NodeFacts {
  const { spot, preemptible, reserved } = node.schedulingConfig ?? {};
  return {
    state: observedNode(node).state,
    labels: labelsOf(node),
    accelerator: node.acceleratorType ?? '',
    topology: node.acceleratorConfig?.topology || undefined,
    runtimeVersion: node.runtimeVersion ?? '',
    pricing: spot ? 'spot' : preemptible ? 'preemptible' : reserved ? 'reserved' : 'ondemand',
    request: node.queuedResource ? pathParts(node.queuedResource).name : undefined,
  };
}

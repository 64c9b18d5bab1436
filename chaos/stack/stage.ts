import type { Client } from '@temporalio/client';
import type { JobClient } from '../../client/job-client.js';
import { type CloudStatus, RehearsalAdmin } from '../../test/end-to-end/rehearsal-admin.js';
import { until } from '../../test/until.js';
import type { Deed, DeedKind } from '../oracle/evidence.js';
import { placeIn } from '../oracle/groups.js';
import type { Listener } from '../oracle/listener.js';
import type { Receiver } from '../oracle/receiver.js';
import type { DrawnGroup } from './families.js';
import type { DrawnJob } from './jobs.js';
import type { PrivateStack } from './private-stack.js';
import type { RackMachine } from './rack/machine.js';
import { settleMs, type Tier } from './tier.js';

type Node = CloudStatus['nodes'][number];

export interface RunningVm {
  readonly name: string;
  readonly zone: string;
}

const lastOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

/** The place of deeds: the stack with its admin interfaces, the jobs on it, and the record of what was done. */
export class Stage {
  readonly stack: PrivateStack;
  readonly admin: RehearsalAdmin;
  readonly tier: Tier;
  readonly jobs: readonly DrawnJob[];
  /** Jobs of the second installation. */
  readonly theirs: readonly DrawnJob[];
  readonly groups: readonly DrawnGroup[];
  /** The receiver of all events. Undefined: nobody is told. */
  readonly receiver: Receiver | undefined;
  readonly listener: Listener;
  readonly deeds: Deed[] = [];
  /** Ids of jobs that were submitted. */
  readonly submitted = new Set<string>();
  /** Functions that end a lasting fault. Each is called once: at its time, or by `heal`. */
  readonly #ends = new Set<() => Promise<void>>();
  readonly #lastWords: (() => Promise<void>)[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #under = new Set<Promise<void>>();

  constructor({
    stack,
    tier,
    jobs,
    listener,
    theirs = [],
    groups = [],
    receiver,
  }: Pick<Stage, 'stack' | 'tier' | 'jobs' | 'listener'> & Partial<Pick<Stage, 'theirs' | 'groups' | 'receiver'>>) {
    this.stack = stack;
    this.admin = new RehearsalAdmin(stack.sources.admin);
    this.listener = listener;
    this.tier = tier;
    this.jobs = jobs;
    this.theirs = theirs;
    this.groups = groups;
    this.receiver = receiver;
  }

  /** Submits a job, and tries again until it is accepted. */
  async submit(to: JobClient, { id, file, user, kind }: DrawnJob): Promise<void> {
    await until(`${id} is submitted`, () => to.submit({ job: file, name: id, user }), settleMs(this.tier));
    this.submitted.add(id);
    this.note('submit', `${user} submits ${id}: ${kind}`);
  }

  note(kind: DeedKind, text: string, about: Pick<Deed, 'job' | 'resource' | 'process'> = {}): void {
    this.deeds.push({ at: Date.now(), kind, text, ...about });
  }

  /** Ends a fault after a while, or with `heal` if that comes first. */
  endAfter(ms: number, end: () => Promise<void>): void {
    this.#ends.add(end);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      const done = this.#end(end);
      this.#under.add(done);
      void done.finally(() => this.#under.delete(done));
    }, ms);
    this.#timers.add(timer);
  }

  /** Adds something to be told when all is over. */
  atEnd(tell: () => Promise<void>): void {
    this.#lastWords.push(tell);
  }

  async tellRest(): Promise<void> {
    for (const tell of this.#lastWords.splice(0)) await tell();
  }

  /** Ends every lasting fault now. */
  async heal(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(this.#under);
    for (const end of [...this.#ends]) await this.#end(end);
  }

  /** Nodes of the first installation, sorted by name. */
  async nodes(): Promise<readonly Node[]> {
    return (await this.#allNodes()).filter((node) => !this.#isTheirs(node));
  }

  async theirNodes(): Promise<readonly Node[]> {
    return (await this.#allNodes()).filter((node) => this.#isTheirs(node));
  }

  async #allNodes(): Promise<readonly Node[]> {
    const foreign = this.#foreign();
    const { nodes } = await this.admin.status();
    return nodes
      .filter(({ name }) => !foreign.some((resource) => name.endsWith(resource)))
      .map((node) => ({ ...node, name: lastOf(node.name) }))
      .toSorted((a, b) => a.name.localeCompare(b.name));
  }

  #foreign(): readonly string[] {
    return this.deeds.flatMap(({ kind, resource = '' }) => (kind === 'foreign' ? [`/${resource}`] : []));
  }

  readonly #isTheirs = ({ name }: Node): boolean => this.theirs.some(({ id }) => name.includes(`-${id}-`));

  async readyNodes(): Promise<readonly Node[]> {
    return (await this.nodes()).filter(({ state }) => state === 'READY');
  }

  /** Running VMs of Compute Engine that are not foreign, sorted by name. */
  async runningVms(): Promise<readonly RunningVm[]> {
    const foreign = this.#foreign();
    const { vms } = await this.admin.status();
    return vms
      .filter(({ name, state }) => state === 'RUNNING' && !foreign.some((resource) => name.endsWith(resource)))
      .map(({ name }) => ({ name: lastOf(name), zone: name.split('/')[3] ?? '' }))
      .toSorted((a, b) => a.name.localeCompare(b.name));
  }

  /** Nodes and VMs whose hosts SSH reaches: ready nodes, and running VMs of Compute Engine, which have one host each. */
  async readyHosts(): Promise<readonly { readonly name: string; readonly count: number }[]> {
    const nodes = (await this.readyNodes()).map(({ name, hosts }) => ({ name, count: hosts.length }));
    return [...nodes, ...(await this.runningVms()).map(({ name }) => ({ name, count: 1 }))];
  }

  /** The pool's own machines that a slice holds, by their claim files. */
  get heldMachines(): readonly RackMachine[] {
    return (this.stack.rack?.machines ?? []).filter(({ isOn, claim }) => isOn && claim !== undefined);
  }

  /** Whether chaos submitted the job, or a group that it is a member of. */
  isSubmitted(id: string): boolean {
    return (
      this.submitted.has(id) ||
      this.groups.some((group) => this.submitted.has(group.id) && placeIn(group, id) !== undefined)
    );
  }

  /** Ids of open groups. */
  async openGroups(): Promise<readonly string[]> {
    return (await this.open('group')).map((id) => id.slice('group/'.length));
  }

  /** Open workflows of a type, from the server's list. @param client absent: the first installation's */
  async open(
    type: 'job' | 'slice' | 'group' | 'notices',
    client: Client = this.stack.client,
  ): Promise<readonly string[]> {
    const query = `WorkflowType = '${type}' AND ExecutionStatus = 'Running'`;
    const ids: string[] = [];
    for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
    return ids.toSorted();
  }

  async #end(end: () => Promise<void>): Promise<void> {
    if (!this.#ends.delete(end)) return;
    try {
      await end();
    } catch (error) {
      this.note('note', `could not be ended, tried again at the end: ${String(error)}`);
      this.#ends.add(end);
    }
  }
}

import type { Client } from '@temporalio/client';
import type { JobClient } from '../../client/job-client.js';
import { type CloudStatus, RehearsalAdmin } from '../../test/end-to-end/rehearsal-admin.js';
import { until } from '../../test/until.js';
import type { Deed, DeedKind } from '../oracle/evidence.js';
import type { Listener } from '../oracle/listener.js';
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

/** Where deeds are done: the stack from behind, what is on it now, and the record of what was done. */
export class Stage {
  readonly stack: PrivateStack;
  readonly admin: RehearsalAdmin;
  readonly tier: Tier;
  readonly jobs: readonly DrawnJob[];
  /** Of the second installation. */
  readonly theirs: readonly DrawnJob[];
  readonly listener: Listener;
  readonly deeds: Deed[] = [];
  /** Ids of jobs that were submitted. */
  readonly submitted = new Set<string>();
  /** What ends a fault that lasts. Each is done once: when its time has come, or all at the end. */
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
  }: Pick<Stage, 'stack' | 'tier' | 'jobs' | 'listener'> & Partial<Pick<Stage, 'theirs'>>) {
    this.stack = stack;
    this.admin = new RehearsalAdmin(stack.sources.admin);
    this.listener = listener;
    this.tier = tier;
    this.jobs = jobs;
    this.theirs = theirs;
  }

  /** Tried until it is accepted. */
  async submit(to: JobClient, { id, file, user, kind }: DrawnJob): Promise<void> {
    await until(`${id} is submitted`, () => to.submit({ job: file, name: id, user }), settleMs(this.tier));
    this.submitted.add(id);
    this.note('submit', `${user} submits ${id}: ${kind}`);
  }

  note(kind: DeedKind, text: string, about: Pick<Deed, 'job' | 'resource' | 'process'> = {}): void {
    this.deeds.push({ at: Date.now(), kind, text, ...about });
  }

  /** Ends a fault after a while, at the latest with `heal`. */
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

  /** What is to be told when all is over. */
  atEnd(tell: () => Promise<void>): void {
    this.#lastWords.push(tell);
  }

  async tellRest(): Promise<void> {
    for (const tell of this.#lastWords.splice(0)) await tell();
  }

  /** Every fault that lasts ends now. */
  async heal(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(this.#under);
    for (const end of [...this.#ends]) await this.#end(end);
  }

  /** Of the first installation, by name. */
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

  /** Of Compute Engine, that run, and are none of somebody else's: by name, each with the zone that it is in. */
  async runningVms(): Promise<readonly RunningVm[]> {
    const foreign = this.#foreign();
    const { vms } = await this.admin.status();
    return vms
      .filter(({ name, state }) => state === 'RUNNING' && !foreign.some((resource) => name.endsWith(resource)))
      .map(({ name }) => ({ name: lastOf(name), zone: name.split('/')[3] ?? '' }))
      .toSorted((a, b) => a.name.localeCompare(b.name));
  }

  /** What has hosts that SSH reaches in the cloud: ready nodes, and VMs of Compute Engine, which are one host each. */
  async readyHosts(): Promise<readonly { readonly name: string; readonly count: number }[]> {
    const nodes = (await this.readyNodes()).map(({ name, hosts }) => ({ name, count: hosts.length }));
    return [...nodes, ...(await this.runningVms()).map(({ name }) => ({ name, count: 1 }))];
  }

  /** Of the pool's own machines those that a slice holds, as they themselves say. */
  get heldMachines(): readonly RackMachine[] {
    return (this.stack.rack?.machines ?? []).filter(({ isOn, claim }) => isOn && claim !== undefined);
  }

  /** Open workflows of a type, by the server's list. @param client of another installation than the first */
  async open(type: 'job' | 'slice', client: Client = this.stack.client): Promise<readonly string[]> {
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

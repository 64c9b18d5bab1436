import type { Line } from './stepped-rehearsal.js';

/**
 * The oracle of the rehearsal: it reads the lines of the journal alone, folds what they say resources became, and counts
 * chips by tables of its own. It shares no code with what it judges.
 */

interface Resource {
  readonly name: string;
  readonly [field: string]: unknown;
}

export interface Replayed {
  readonly nodes: ReadonlyMap<string, Resource>;
  readonly queuedResources: ReadonlyMap<string, Resource>;
  readonly operations: ReadonlyMap<string, unknown>;
  readonly settings: Readonly<Record<string, unknown>>;
  /** What cannot be, with the number of the line where it shows. */
  readonly faults: readonly string[];
  /** How often something worth a test happened. */
  readonly seen: ReadonlyMap<string, number>;
}

/** From the protos' comments and docs/facts.md, "Cloud TPU", not from the code: what may follow what. */
const QUEUED_RESOURCE_MOVES: Readonly<Record<string, readonly string[]>> = {
  absent: ['CREATING'],
  CREATING: ['WAITING_FOR_RESOURCES', 'ACCEPTED', 'FAILED', 'DELETING'],
  ACCEPTED: ['PROVISIONING', 'FAILED', 'DELETING'],
  WAITING_FOR_RESOURCES: ['PROVISIONING', 'FAILED', 'DELETING'],
  PROVISIONING: ['ACTIVE', 'WAITING_FOR_RESOURCES', 'ACCEPTED', 'SUSPENDING', 'FAILED', 'DELETING'],
  ACTIVE: ['SUSPENDING', 'DELETING'],
  SUSPENDING: ['SUSPENDED', 'FAILED', 'DELETING'],
  SUSPENDED: ['DELETING'],
  FAILED: ['DELETING'],
  DELETING: ['gone'],
};
const NODE_MOVES: Readonly<Record<string, readonly string[]>> = {
  absent: ['CREATING'],
  // `gone`: it came to nothing, or it vanished instead of being shown as PREEMPTED.
  CREATING: ['READY', 'PREEMPTED', 'DELETING', 'gone'],
  READY: ['STOPPING', 'REPAIRING', 'RESTARTING', 'PREEMPTED', 'DELETING', 'gone'],
  STOPPING: ['STOPPED', 'DELETING'],
  STOPPED: ['STARTING', 'DELETING'],
  STARTING: ['READY', 'PREEMPTED', 'DELETING', 'gone'],
  REPAIRING: ['READY', 'PREEMPTED', 'DELETING', 'gone'],
  RESTARTING: ['READY', 'PREEMPTED', 'DELETING', 'gone'],
  PREEMPTED: ['DELETING', 'gone'],
  DELETING: ['gone'],
};
/** The types that the tests use. */
const CHIPS: Readonly<Record<string, number>> = { 'v5litepod-8': 8, 'v5litepod-16': 16, 'v4-8': 4, 'v4-16': 8 };

/** @param settings those in force before the first line. */
export function replay(lines: readonly Line[], settings: Readonly<Record<string, unknown>>): Replayed {
  const reader = new JournalReader(settings, refusedByQuota(lines));
  for (const line of lines) reader.read(line);
  return reader;
}

/** Requests that hold no quota, since that refused them: known only when they leave CREATING. By the line that begins them. */
function refusedByQuota(lines: readonly Line[]): ReadonlySet<unknown> {
  const begun = new Map<unknown, unknown>();
  const refused = new Set<unknown>();
  for (const { kind, seq, subject, details } of lines) {
    if (kind !== 'queued-resource-state') continue;
    const { from, resource } = details as Line;
    if (from === 'absent') begun.set(subject, seq);
    else if (isQuotaRefusal(resource as Resource | undefined)) refused.add(begun.get(subject));
  }
  return refused;
}

class JournalReader implements Replayed {
  readonly nodes = new Map<string, Resource>();
  readonly queuedResources = new Map<string, Resource>();
  readonly operations = new Map<string, unknown>();
  readonly faults: string[] = [];
  readonly seen = new Map<string, number>();
  settings: Readonly<Record<string, unknown>>;
  /** Ids of nodes whose chips the provider has back for good. */
  readonly #taken = new Set<unknown>();
  readonly #overQuota = new Set<string>();
  #lastSeq = 0;
  #lastAt = 0;

  readonly #refused: ReadonlySet<unknown>;

  constructor(settings: Readonly<Record<string, unknown>>, refused: ReadonlySet<unknown>) {
    this.settings = settings;
    this.#refused = refused;
  }

  read(line: Line): void {
    const { seq, at, kind, subject, details } = line as {
      seq: number;
      at: number;
      kind: string;
      subject: string;
      details: Line;
    };
    if (seq !== this.#lastSeq + 1) this.#fault(line, `comes after ${this.#lastSeq}`);
    if (at < this.#lastAt) this.#fault(line, `is of ${this.#lastAt - at} ms before the line above`);
    [this.#lastSeq, this.#lastAt] = [seq, Math.max(at, this.#lastAt)];
    const before = this.#inUse();
    this.#fold(line, kind, subject, details);
    this.#checkLimits(line, before, this.#inUse());
    this.#checkAddresses(line);
  }

  #fold(line: Line, kind: string, subject: string, details: Line): void {
    const resource = details['resource'] as Resource | undefined;
    switch (kind) {
      case 'node-state':
        this.#move(line, this.nodes, NODE_MOVES, subject, details);
        if (details['to'] === 'PREEMPTED' || details['from'] === 'STOPPED') this.#noteChips(details);
        return;
      case 'node-change':
        if (!this.nodes.has(subject)) this.#fault(line, 'changes a node that is not there');
        return void this.nodes.set(subject, resource as Resource);
      case 'queued-resource-state':
        if (this.#refused.has(line['seq'])) this.#overQuota.add(subject);
        if (details['to'] === 'gone') this.#overQuota.delete(subject);
        return this.#move(line, this.queuedResources, QUEUED_RESOURCE_MOVES, subject, details);
      case 'operation':
        if (resource === undefined) this.operations.delete(subject);
        else this.#operation(line, subject, resource);
        return;
      case 'restored':
        return this.#restore(subject, details);
      case 'settings':
        this.settings = details['resource'] as Line;
        return;
      default:
    }
  }

  #move(
    line: Line,
    table: Map<string, Resource>,
    moves: Readonly<Record<string, readonly string[]>>,
    name: string,
    details: Line,
  ): void {
    const [from, to] = [String(details['from']), String(details['to'])];
    const was = table.get(name);
    const stateWas = was === undefined ? 'absent' : stateOf(was);
    if (stateWas !== from) this.#fault(line, `says it was ${from}; it was ${stateWas}`);
    if (moves[from]?.includes(to) !== true) this.#fault(line, `${from} -> ${to} cannot be`);
    const resource = details['resource'] as Resource | undefined;
    if (to === 'gone' ? resource !== undefined : resource === undefined || stateOf(resource) !== to) {
      this.#fault(line, `is ${to} by its words, and otherwise by its image`);
    }
    this.#count(`${String(line['kind'])} ${from} -> ${to}`);
    if (to === 'gone') table.delete(name);
    else table.set(name, resource as Resource);
  }

  /** A rehearsal that was killed had told more than it had saved: what is true after all. */
  #restore(subject: string, { of, resource }: Line): void {
    // It folds what is Cloud TPU's.
    if (of === 'vm') return;
    const table: Map<string, unknown> =
      of === 'node' ? this.nodes : of === 'operation' ? this.operations : this.queuedResources;
    if (resource === undefined) table.delete(subject);
    else table.set(subject, resource);
  }

  /** What the provider took, and what was stopped and is started no more, holds no chips until it is gone. */
  #noteChips({ to, nodeId }: Line): void {
    if (to !== 'STARTING') this.#taken.add(nodeId);
  }

  #operation(line: Line, name: string, operation: Resource): void {
    const was = this.operations.get(name) as Resource | undefined;
    const isDone = (each: Resource | undefined): boolean =>
      each?.['error'] !== undefined || each?.['result'] !== undefined;
    if (operation['error'] !== undefined && operation['result'] !== undefined) this.#fault(line, 'has two ends');
    if (isDone(operation) !== (operation['endTime'] !== undefined)) this.#fault(line, 'ends without its time');
    if (isDone(was) && !isDone(operation)) this.#fault(line, 'begins again');
    this.operations.set(name, operation);
  }

  /** Nothing may grow beyond its limit; what is over it because the limit was cut may only shrink. */
  #checkLimits(line: Line, before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): void {
    for (const [key, chips] of after) {
      const limit = this.#limitOf(key);
      if (limit !== undefined && chips > limit && chips > (before.get(key) ?? 0)) {
        this.#fault(line, `${key}: ${chips} chips of ${limit}`);
      }
      if (limit !== undefined && chips === limit) this.#count(`${key.split(' ')[0]} full`);
    }
  }

  #limitOf(key: string): number | undefined {
    const [table = '', place = ''] = key.split(' ');
    const limits = this.settings[table] as Readonly<Record<string, number>>;
    return limits[place] ?? (table === 'quota' ? limits[place.replace(/^[^/]+/, '*')] : undefined);
  }

  #inUse(): ReadonlyMap<string, number> {
    const sums = new Map<string, number>();
    const add = (key: string, chips: number): void => void sums.set(key, (sums.get(key) ?? 0) + chips);
    for (const node of this.nodes.values()) {
      const { place, tier, project } = placeOf(node.name, node['acceleratorType'], node['schedulingConfig'] as Line);
      const chips = chipsOf(node['acceleratorType']);
      const isHeld = !this.#taken.has(node['id']) && !['STOPPED', 'TERMINATED'].includes(stateOf(node));
      if (isHeld) for (const key of [place, `${place}/${tier}`]) add(`capacity ${key}`, chips);
      if (!this.#isOfItsRequest(node)) add(`quota ${project}/${place}/${tier}`, chips);
    }
    for (const request of this.queuedResources.values()) {
      if (this.#overQuota.has(request.name)) continue;
      const [spec] = specsOf(request);
      const { place, tier, project } = placeOf(request.name, spec?.node['acceleratorType'], schedulingOf(request));
      add(`quota ${project}/${place}/${tier}`, specsOf(request).length * chipsOf(spec?.node['acceleratorType']));
    }
    return sums;
  }

  #isOfItsRequest(node: Resource): boolean {
    const request = this.queuedResources.get(String(node['queuedResource']));
    return request !== undefined && specsOf(request).some(({ nodeId }) => node.name.endsWith(`/nodes/${nodeId}`));
  }

  #checkAddresses(line: Line): void {
    if (line['kind'] !== 'node-state') return;
    const all = [...this.nodes.values()].flatMap(({ networkEndpoints }) =>
      (networkEndpoints as readonly { readonly ipAddress: string }[]).map(({ ipAddress }) => ipAddress),
    );
    if (new Set(all).size < all.length) this.#fault(line, 'gives an address twice');
  }

  #count(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  #fault({ seq, kind, subject }: Line, what: string): void {
    this.faults.push(`line ${String(seq)}, ${String(kind)} of ${String(subject)}: ${what}`);
  }
}

function stateOf({ state }: Resource): string {
  return typeof state === 'string' ? state : String((state as Line)['state']);
}

interface Spec {
  readonly nodeId: string;
  readonly node: Line;
}

function specsOf(request: Resource): readonly Spec[] {
  return (request['tpu'] as { readonly nodeSpec: readonly Spec[] }).nodeSpec;
}

function chipsOf(type: unknown): number {
  const chips = CHIPS[String(type)];
  if (chips === undefined) throw new RangeError(`the oracle knows no ${String(type)}`);
  return chips;
}

function schedulingOf(request: Resource): Line {
  const [spec] = specsOf(request);
  const guaranteed = request['guaranteed'] as Line | undefined;
  return {
    ...(spec?.node['schedulingConfig'] as Line | undefined),
    ...(request['spot'] !== undefined && { spot: true }),
    ...(guaranteed?.['reserved'] === true && { reserved: true }),
    ...(request['provisioningModel'] !== undefined && { provisioningModel: request['provisioningModel'] }),
  };
}

function placeOf(
  name: string,
  type: unknown,
  scheduling: Line | undefined,
): Record<'place' | 'tier' | 'project', string> {
  const [, project = '', , zone = ''] = name.split('/');
  const generation = String(type).replace(/-\d+$/, '');
  const isFlexStart = scheduling?.['provisioningModel'] === 'FLEX_START';
  const isSpot = scheduling?.['spot'] === true || scheduling?.['preemptible'] === true || isFlexStart;
  const tier = isSpot ? 'spot' : 'on-demand';
  return { project, place: `${zone}/${generation}`, tier: scheduling?.['reserved'] === true ? 'reserved' : tier };
}

/** A request that quota itself refused holds none. */
function isQuotaRefusal(resource: Resource | undefined): boolean {
  const state = resource?.['state'] as { readonly failedData?: { readonly error?: { readonly message?: string } } };
  return /^Quota '.*' exhausted/.test(state?.failedData?.error?.message ?? '');
}

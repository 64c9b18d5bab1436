/** The provider's half of a new kind of machines. Its adapter is whole: the calls of the provider's API are what its author writes. */

export interface KindNames {
  /** `trn-pods` */
  readonly name: string;
  /** `trn_pods` */
  readonly section: string;
  /** `TrnPods` */
  readonly type: string;
  /** `trnPods` */
  readonly value: string;
}

export const apiFile = ({
  name,
  type,
}: KindNames): string => `import { type ${type}Plan, type ${type}Ref, todo } from '../../../domain/machine-kinds/${name}/words.js';
import type { RefusalScope } from '../../../domain/slice.js';

/** The machines of one slice, as the provider tells of them. */
export interface ${type}Machines {
  readonly name: string;
  readonly zone: string;
  /** The provider's id of these very machines: made anew under the name they have another. */
  readonly uid: string;
  /** The tags that they were made with: \`labelsOf\` of domain/identity.ts. */
  readonly labels: Readonly<Record<string, string>>;
  readonly state: 'starting' | 'running' | 'taken' | 'deleting';
  /** The state in the provider's own words, for people. */
  readonly detail: string;
  /** Addresses of the hosts, in the order of their numbers. */
  readonly addresses: readonly { readonly internalIp: string; readonly externalIp?: string }[];
}

export type MakeAnswer =
  | { readonly kind: 'made' | 'in use' }
  | { readonly kind: 'refused'; readonly scope: RefusalScope; readonly message: string };

/**
 * The calls of the provider's API that the adapter needs. Each is made once. A call whose answer did not come rejects with
 * \`CloudUnavailable\`, and a call without the right to make it with \`CloudRefused\`.
 */
export interface ${type}Api {
  /** Makes all machines of a slice or none, with these labels, unless the name is in use. */
  make(plan: ${type}Plan, labels: Readonly<Record<string, string>>): Promise<MakeAnswer>;
  find(ref: ${type}Ref): Promise<${type}Machines | undefined>;
  /** All machines that the worker's credentials show. */
  list(): Promise<readonly ${type}Machines[]>;
  /** Begins to delete them, unless the machines of that name have another uid. */
  remove(ref: ${type}Ref, uid: string): Promise<void>;
}

/** TODO: the client of the provider. test/cloud/${name}-machines.test.ts has a stub in its place. */
export const open${type}Api = (): ${type}Api => todo("the calls of the provider's API");
`;

export const adapterFile = ({
  name,
  type,
}: KindNames): string => `import type { ${type}Plan, ${type}Ref } from '../../../domain/machine-kinds/${name}/words.js';
import { labelsOf, ownershipFrom } from '../../../domain/identity.js';
import type { Condition, CreateAnswer, Owner, Ownership } from '../../../domain/slice.js';
import { DEFAULT_LISTING_PERIODS, type ListingPeriods, SharedLister } from '../api-load.js';
import { type Claim, CloudRefused, type Machines, type OwnedResource, type RemoveAnswer, type WatchOptions } from '../port.js';
import type { ${type}Api, ${type}Machines } from './${name}-api.js';

/** The machines of this kind, over the calls of its provider. \`exerciseMachines\` judges it, with a stub of the provider. */
export class ${type} implements Machines<'${name}'> {
  readonly #api: ${type}Api;
  readonly #lister: SharedLister<WatchOptions, readonly ${type}Machines[]>;

  constructor(api: ${type}Api, periods: ListingPeriods = DEFAULT_LISTING_PERIODS) {
    this.#api = api;
    this.#lister = new SharedLister(() => api.list(), periods);
  }

  async create(plan: ${type}Plan): Promise<CreateAnswer> {
    try {
      const answer = await this.#api.make(plan, labelsOf(plan.ownership));
      if (answer.kind === 'refused') return answer;
      return { kind: answer.kind === 'made' ? 'accepted' : 'exists' };
    } catch (error) {
      const { message } = error as Error;
      // Whatever else failed, the machines may have been made.
      return error instanceof CloudRefused ? { kind: 'refused', scope: 'installation', message } : { kind: 'unanswered', message };
    }
  }

  async observe({ ref, ownership }: Claim<${type}Ref>): Promise<Condition> {
    return conditionOf(await this.#api.find(ref), ownership);
  }

  async watch({ ref, ownership }: Claim<${type}Ref>, options: WatchOptions): Promise<Condition> {
    const listed = await this.#lister.next(options);
    return conditionOf(listed.find(({ name, zone }) => name === ref.name && zone === ref.zone), ownership);
  }

  async remove(ref: ${type}Ref, owner: Owner): Promise<RemoveAnswer> {
    try {
      const found = await this.#api.find(ref);
      if (found === undefined) return { kind: 'gone' };
      if (!isOf(found, owner)) return { kind: 'refused', message: foreignText(found) };
      if (found.state === 'deleting') return { kind: 'accepted' };
      await this.#api.remove(ref, found.uid);
      return { kind: 'accepted', operation: JSON.stringify({ ref, uid: found.uid }) };
    } catch (error) {
      return { kind: error instanceof CloudRefused ? 'refused' : 'unanswered', message: (error as Error).message };
    }
  }

  async removal(operation: string): Promise<'under way' | 'done'> {
    const { ref, uid } = JSON.parse(operation) as { readonly ref: ${type}Ref; readonly uid: string };
    return (await this.#api.find(ref))?.uid === uid ? 'under way' : 'done';
  }

  /** TODO: an account of its own for each listing, if the worker's credentials show several. */
  async listOwned(_account: string, owner: string): Promise<readonly OwnedResource<${type}Ref>[]> {
    return (await this.#api.list()).flatMap(({ name, zone, labels }) => {
      const ownership = ownershipFrom(labels);
      return ownership?.owner === owner ? [{ ref: { kind: '${name}' as const, zone, name }, ownership }] : [];
    });
  }

  async close(): Promise<void> {
    this.#lister.close('the worker');
  }
}

/** Whether the machines have every value of the owner: with an \`Ownership\`, those of another generation or spec are foreign. */
function isOf({ labels }: ${type}Machines, owner: Owner | Ownership): boolean {
  const own: Partial<Ownership> = ownershipFrom(labels) ?? {};
  return Object.entries(owner).every(([key, value]) => own[key as keyof Ownership] === value);
}

const foreignText = ({ name, labels }: ${type}Machines): string =>
  \`the machines \${name} belong to \${ownershipFrom(labels)?.job ?? 'nothing of jobctl'}\`;

function conditionOf(found: ${type}Machines | undefined, owner: Owner | Ownership): Condition {
  if (found === undefined) return { kind: 'missing' };
  if (!isOf(found, owner)) return { kind: 'foreign', message: foreignText(found) };
  const { state, detail, uid, addresses } = found;
  switch (state) {
    case 'starting':
      return { kind: 'waiting', detail };
    case 'running':
      return { kind: 'ready', uid, hosts: addresses.map((address, index) => ({ reach: 'ssh', index, ...address })) };
    case 'taken':
      return { kind: 'lost', cause: 'preempted', message: detail };
    case 'deleting':
      return { kind: 'deleting' };
  }
}
`;

export const auditFile = ({
  name,
  type,
}: KindNames): string => `import { todo } from '../../../domain/machine-kinds/${name}/words.js';
import type { AuditedResource, OnUnread } from '../audited-resource.js';

/** TODO: everything that an account holds, by a reader that shares no code with the adapter. */
export const listEvery${type} = async (_account: string, _onUnread: OnUnread): Promise<readonly AuditedResource[]> =>
  todo('the audit');
`;

export const testFile = ({
  name,
  type,
}: KindNames): string => `import { ${type} } from '../../cloud/machines/${name}/${name}.js';
import type { ${type}Api, ${type}Machines } from '../../cloud/machines/${name}/${name}-api.js';
import type { ${type}Plan, ${type}Ref } from '../../domain/machine-kinds/${name}/words.js';
import { ownership } from './cloud-tpu-plan.js';
import { exerciseMachines } from './machines-conformance.js';

const TYPE = 'some-type';

/** The provider in memory: machines run at the second look at them, and are gone at the second look after a removal. */
class Stub implements ${type}Api {
  readonly #machines = new Map<string, ${type}Machines>();
  #made = 0;

  async make({ ref: { name, zone }, machines }: ${type}Plan, labels: Readonly<Record<string, string>>) {
    if (machines.type !== TYPE)
      return { kind: 'refused', scope: 'request', message: \`no type \${machines.type}\` } as const;
    if (this.#machines.has(name)) return { kind: 'in use' } as const;
    const addresses = Array.from({ length: machines.count }, (_, at) => ({ internalIp: \`10.0.0.\${at + 1}\` }));
    const uid = \`id-\${++this.#made}\`;
    this.#machines.set(name, { name, zone, uid, labels, addresses, state: 'starting', detail: 'pending' });
    return { kind: 'made' } as const;
  }

  async find({ name }: ${type}Ref): Promise<${type}Machines | undefined> {
    const found = this.#machines.get(name);
    if (found?.state === 'starting') this.#machines.set(name, { ...found, state: 'running' });
    if (found?.state === 'deleting') this.#machines.delete(name);
    return found;
  }

  async list(): Promise<readonly ${type}Machines[]> {
    return [...this.#machines.values()];
  }

  async remove({ name }: ${type}Ref, uid: string): Promise<void> {
    const found = this.#machines.get(name);
    if (found?.uid === uid) this.#machines.set(name, { ...found, state: 'deleting' });
  }
}

exerciseMachines('${name}, with a stub of its provider', ['two machines'], async () => {
  const owner = 'own-1';
  const plan = (slice: string, _variant: string): ${type}Plan => ({
    ref: { kind: '${name}', zone: 'zone-1', name: \`\${owner}-\${slice}\` },
    ownership: ownership({ owner }),
    machines: { type: TYPE, count: 2, zones: [] },
    publicKey: '',
  });
  const port = new ${type}(new Stub(), { urgentMs: 0, quietMs: 0 });
  return {
    ...{ port, owner, plan, account: '', hosts: 2, uid: /^id-\\d+$/, deadlineMs: 10_000 },
    badPlan: (slice, variant) => ({ ...plan(slice, variant), machines: { type: 'no-type', count: 2, zones: [] } }),
    close: () => port.close(),
  };
});
`;

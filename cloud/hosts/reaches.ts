import { isIP } from 'node:net';
import type { MachineRef } from '../../domain/machines.js';
import type { Reach, SliceHost } from '../../domain/slice.js';
import { isGoogleBucket } from '../../domain/store-place.js';

/** One host, with the facts that its connection needs. */
export type HostTarget = SshTarget | PodTarget;
export type TargetBy<R extends Reach> = Extract<HostTarget, { readonly reach: R }>;

interface AnyTarget {
  /** Its slice at the provider: on Cloud TPU the node whose guest attributes are read. Absent: the host belongs to no slice. */
  readonly ref?: MachineRef;
  /**
   * The provider's id of its slice: host keys are pinned per node id, since addresses are recycled (marin-community/marin#6450).
   */
  readonly uid: string;
  /** Index of the slice in the job, from 0. */
  readonly slice: number;
  /** Index of the host in the slice, from 0. */
  readonly index: number;
}

/** A VM that is reached over SSH. */
export interface SshTarget extends AnyTarget {
  readonly reach: 'ssh';
  /** Address that is dialled: the external one if there is one. */
  readonly address: string;
  /** Address inside its network, for a fleet that is configured to use it (`ssh.address: internal`). */
  readonly internalAddress?: string;
  readonly user: string;
  /** Absent: a VM. */
  readonly own?: OwnTarget;
  /** For a VM that was not made for its slice: as `OwnTarget.claim`. */
  readonly claim?: string;
}

/** A machine that outlives its slices. */
export interface OwnTarget {
  readonly port: number;
  /** The uid under which its host key is kept: the machine's own, whichever slice holds it. */
  readonly lastingUid: string;
  /** The machine must have this claim, or it refuses commands (docs/adr/0070). Absent: for code that manages the claims. */
  readonly claim?: string;
  /** `ssh-ed25519 AAAA..` from the inventory. Absent: the key of the first connection counts. */
  readonly hostKey?: string;
  /** `secret:NAME` of the key for the connection. Absent: the job's key. */
  readonly key?: string;
  /** Its name in the pool file, for messages. Absent: a slice holds it, and its place in the slice names it. */
  readonly name?: string;
}

/** The uid and index under which the key of a host is recorded. */
export const hostKeyPlace = ({ uid, index, own }: SshTarget): readonly [uid: string, index: number] =>
  own === undefined ? [uid, index] : [own.lastingUid, 0];

/** A pod that is reached by exec. */
export interface PodTarget extends AnyTarget {
  readonly reach: 'pod';
  readonly namespace: string;
  readonly pod: string;
  /** The pod's own id. */
  readonly podUid: string;
}

/** The uid differs from all node ids, which are numbers, and from all pod ids, which are UUIDs. */
export const lastingUid = ({ pool, name }: { readonly pool: string; readonly name: string }): string =>
  `machine-${encodeURIComponent(pool)}-${encodeURIComponent(name)}`;

/** Facts of a slice that the target of each of its hosts takes over. */
interface TargetPlace {
  readonly ref: MachineRef;
  readonly uid: string;
  readonly slice: number;
  /** For hosts that have logins. */
  readonly user: string;
}

/** Values that a job claims about a host: the value's name for messages, the value, and whether it is valid. */
export type HostClaims = readonly (readonly [what: string, value: unknown, isGood: boolean])[];

/** One way to reach a host. */
interface Way<Host extends SliceHost = SliceHost, Target extends HostTarget = HostTarget> {
  target(host: Host, place: TargetPlace): Target;
  claims(target: Target): HostClaims;
  /**
   * Whether the host was made with an account of its provider, which can open the bucket. A rehearsed store checks no login. Even
   * so, only such a host accesses it directly, as a real store requires (docs/adr/0129).
   */
  hasAccount(target: Target): boolean;
  /** Whether it is dialled by its address inside its network. */
  isInternal(target: Target): boolean;
  /** Whether a host may have another number than its place in the provider's list (docs/adr/0047). */
  readonly mayBeRenumbered: boolean;
  /** Why no key of the job logs in to the host, with the remedy. Undefined: a key does. */
  readonly withoutKey: ((job: string) => readonly [why: string, remedy: string]) | undefined;
}

/** A valid login name on a machine, whatever its source: never an option of a program, nor a word that a shell or ssh expands. */
export const LOGIN_USER = /^[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,127}$/;
export const UID = /^[A-Za-z0-9][A-Za-z0-9._%:@+~-]{0,511}$/;
const HOST_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;
const KUBERNETES_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const isAddress = (text: string): boolean => isIP(text) !== 0 || HOST_NAME.test(text);

/** All ways to reach hosts. A new one is a row here, in `REACHES` of domain/slice.ts, and a fleet in worker/open-machines.ts. */
const WAYS: { readonly [R in Reach]: Way<Extract<SliceHost, { readonly reach: R }>, TargetBy<R>> } = {
  ssh: {
    target: ({ reach, index, internalIp, externalIp, own, claim: adopted }, { user, ...place }) => {
      const held = adopted === undefined ? {} : { claim: adopted };
      const at = { reach, ...place, index, address: externalIp ?? internalIp, internalAddress: internalIp, ...held };
      if (own === undefined) return { ...at, user };
      const { port, claim, key } = own;
      const reached = { port, claim, lastingUid: lastingUid(own), ...(key !== undefined && { key }) };
      return { ...at, user: own.user, own: reached };
    },
    claims: ({ address, internalAddress = address, user, own }) => [
      ['address', address, isAddress(address)],
      ['internal address', internalAddress, isAddress(internalAddress)],
      ['user', user, LOGIN_USER.test(user)],
      ['id', own?.lastingUid, own === undefined || UID.test(own.lastingUid)],
      ['port', own?.port, own === undefined || (Number.isInteger(own.port) && own.port >= 1 && own.port <= 65_535)],
    ],
    hasAccount: ({ own }) => own === undefined,
    isInternal: ({ address, internalAddress }) => address === internalAddress,
    mayBeRenumbered: true,
    withoutKey: undefined,
  },
  pod: {
    target: ({ reach, index, namespace, pod, uid: podUid }, { user: _, ...place }) => ({
      ...{ reach, ...place, index, namespace, pod, podUid },
    }),
    claims: ({ namespace, pod }) => [
      ['namespace', namespace, KUBERNETES_NAME.test(namespace)],
      ['pod', pod, KUBERNETES_NAME.test(pod)],
    ],
    hasAccount: () => false,
    isInternal: () => false,
    // A pod's number is its own JOB_COMPLETION_INDEX.
    mayBeRenumbered: false,
    withoutKey: (job) => [
      'its hosts are pods, which let in no key: they are reached by exec, with your own rights in Kubernetes',
      `jobctl exec ${job} -- CMD by your kubeconfig, or kubectl exec`,
    ],
  },
};

/** The functions of a way, which take hosts and targets of that way only. */
export const wayOf = ({ reach }: { readonly reach: Reach }): Way => WAYS[reach];

/** Makes the target of a slice's host. @param place its user is for hosts that have logins */
export const targetOf = (host: SliceHost, place: TargetPlace): HostTarget => wayOf(host).target(host, place);

/**
 * Returns whether a host writes into the store directly: it has an account, and the store accepts such an account.
 * @param bucket the value of `StorePort.bucket`
 */
export const reachesStore = (target: HostTarget, bucket: string): boolean =>
  wayOf(target).hasAccount(target) && isGoogleBucket(bucket);

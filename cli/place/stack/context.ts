import { pathToFileURL } from 'node:url';
import type { CodecReferences } from '../../../cloud/codec/codec-key.js';
import type { LoginFiles } from '../../../cloud/temporal/login-files.js';
import { DEFAULT_LISTING_PERIODS } from '../../../cloud/machines/api-load.js';
import { DEFAULT_TIMINGS } from '../../../domain/timings.js';
import type { Timings } from '../../../domain/timings.js';
import type { StackHome } from '../../terminal/home.js';
import {
  serverLoginFiles,
  isGuarded,
  readJson,
  type RealCloud,
  type StackAddresses,
  type StackRecord,
} from './stack-record.js';

/** Settings for clients of a local stack, stored in `context.json`. */
export interface DevContext {
  readonly temporal: LoginFiles & {
    readonly address: string;
    readonly namespace: string;
    readonly uiUrl: string | null;
  };
  /** Without an endpoint: Google's store. */
  readonly store: { readonly endpoint?: string; readonly bucket: string };
  readonly cloud: {
    readonly tpuEndpoint?: string;
    readonly tpuRestEndpoint?: string;
    /** Endpoint of Google's other APIs. */
    readonly googleApiEndpoint?: string;
    readonly insecure: boolean;
    /** File of the token that the rehearsal's ports require. */
    readonly accessTokenFile?: string;
  };
  /** Absent: the cloud is real, and its resources are billed, or there is none (`hasNoCloud`). */
  readonly rehearsal?: {
    readonly adminUrl: string;
    /** The token with its header, for `curl -H @FILE`. */
    readonly headerFile: string;
    readonly journalDir: string;
  };
  /** Kubeconfig of the rehearsed Kubernetes. Absent if the cloud is real: the user's own kubeconfig applies. */
  readonly kubeconfig?: string;
  readonly ssh: {
    readonly port: number;
    readonly privateKeyFile: string;
    readonly publicKeyFile: string;
    /** Secret that the keys of jobs are made from. Absent: the jobctl that started the stack had none. */
    readonly jobKeys?: { readonly current: string };
  };
  /** Absent if there is no cloud. */
  readonly googleProject?: string;
  /** The stack has the user's own machines alone (docs/adr/0171). */
  readonly hasNoCloud?: true;
  /** Absent unless the cloud is simulated. */
  readonly label?: string;
  /** Keys of the payload codec; absent: payloads are plain. */
  readonly codec?: CodecReferences;
  /** Absent: the jobctl that started the stack had none. */
  readonly secretStore?: string;
  /** A GET returns 200 when the worker is ready. */
  readonly workerReadyUrl: string;
}

export const DEV_NAMESPACE = 'default';
export const DEV_BUCKET = 'jobctl-dev';
export const DEV_GOOGLE_PROJECT = 'rehearsal';
/** Label that shows where a user could mistake the rehearsal for the real cloud. */
export const DEV_LABEL = 'REHEARSAL';
/**
 * Shorter waits: a rehearsal answers at once, so waits of minutes in production take seconds here. Jobs of a killed worker
 * continue after 20 s, and an unanswered create settles in the same time.
 */
const DEV_TIMINGS: Partial<Timings> = {
  createSettleMs: 20_000,
  notFoundApartMs: 1_000,
  heartbeatTimeoutMs: 20_000,
  claimTimeoutMs: 10_000,
  reconcileMs: 60_000,
  poolLookMs: 10_000,
  sweepLookMs: 60_000,
  rebuildSettleMs: 500,
  rebuildBoundMs: 30_000,
  zoneBackoffMs: 5_000,
};

/** Waits for the cloud, on the cloud's clock. The other waits are for our own processes, which run in real time. */
const CLOUD_WAITS = [
  ...(['createSettleMs', 'notFoundApartMs', 'reconcileMs', 'poolLookMs'] as const),
  ...(['zoneBackoffMs', 'zoneBackoffMaxMs'] as const),
];
/** Least wait after scaling: a shorter one is a busy loop. */
const LEAST_WAIT_MS = 50;

const scaled = (ms: number, timeScale: number): number => Math.max(LEAST_WAIT_MS, Math.round(ms / timeScale));

function timingsOf({ timeScale = 1 }: StackRecord): Partial<Timings> {
  if (timeScale === 1) return DEV_TIMINGS;
  const waits = CLOUD_WAITS.map((name) => [name, scaled(DEV_TIMINGS[name] ?? DEFAULT_TIMINGS[name], timeScale)]);
  return { ...DEV_TIMINGS, ...(Object.fromEntries(waits) as Partial<Timings>) };
}

const http = (port: number): string => `http://127.0.0.1:${port}`;

/** The context of the stack in that state folder, or undefined if no stack came up there. */
export function readDevContext(home: StackHome): DevContext | undefined {
  return readJson(home.contextFile) as DevContext | undefined;
}

export function temporalAddressOf({ addresses, temporalAddress }: StackRecord): string {
  return temporalAddress ?? `127.0.0.1:${addresses.temporal}`;
}

/** URL of the Web UI. Null if the server is not the stack's own, or if it authenticates callers. */
export function uiUrlOf(record: StackRecord): string | null {
  const { addresses, temporalAddress } = record;
  return temporalAddress === null && !isGuarded(record) ? http(addresses.temporalUi) : null;
}

export const readyUrlOf = ({ health }: StackAddresses): string => `${http(health)}/ready`;
export const metricsUrlOf = ({ metrics }: StackAddresses): string => `${http(metrics)}/metrics`;
export const adminUrlOf = ({ admin }: StackAddresses): string => http(admin);

export function contextOf(home: StackHome, record: StackRecord): DevContext {
  return {
    temporal: {
      ...{ address: temporalAddressOf(record), namespace: DEV_NAMESPACE, uiUrl: uiUrlOf(record) },
      ...loginFilesOf(home, record),
    },
    ...sideOf(home, record),
    ...(record.codec === undefined ? {} : { codec: record.codec }),
    secretStore: pathToFileURL(home.secretsDir).href,
    workerReadyUrl: readyUrlOf(record.addresses),
  };
}

/** Files with which clients log in. Empty unless the server authenticates callers. */
export const loginFilesOf = (home: StackHome, record: StackRecord): LoginFiles =>
  isGuarded(record) ? serverLoginFiles(home) : {};

type CloudSide = Omit<DevContext, 'temporal' | 'codec' | 'secretStore' | 'workerReadyUrl'>;

function sideOf(home: StackHome, { addresses, realCloud, ownMachines }: StackRecord): CloudSide {
  if (ownMachines !== undefined)
    return {
      store: ownMachines,
      cloud: { insecure: false },
      ssh: { port: SSH_PORT, ...keysOf(home) },
      hasNoCloud: true,
    };
  return realCloud === undefined ? rehearsedSide(home, addresses) : realSide(home, realCloud);
}

function rehearsedSide(home: StackHome, addresses: StackAddresses): CloudSide {
  return {
    store: { endpoint: http(addresses.store), bucket: DEV_BUCKET },
    cloud: {
      tpuEndpoint: `127.0.0.1:${addresses.tpu}`,
      tpuRestEndpoint: http(addresses.tpuRest),
      insecure: true,
      accessTokenFile: home.rehearsalTokenFile,
    },
    rehearsal: {
      adminUrl: adminUrlOf(addresses),
      headerFile: home.rehearsalHeaderFile,
      journalDir: home.rehearsalDir,
    },
    kubeconfig: home.kubeconfigFile,
    ssh: { port: addresses.ssh, ...keysOf(home) },
    googleProject: DEV_GOOGLE_PROJECT,
    label: DEV_LABEL,
  };
}

/** SSH port of real TPU VMs. */
const SSH_PORT = 22;

function realSide(home: StackHome, real: RealCloud): CloudSide {
  const { googleProject, bucket, tpuEndpoint, googleApiEndpoint, storeEndpoint, sshPort = SSH_PORT } = real;
  return {
    store: { bucket, ...(storeEndpoint === undefined ? {} : { endpoint: storeEndpoint }) },
    cloud: {
      insecure: false,
      ...(tpuEndpoint === undefined ? {} : { tpuEndpoint }),
      ...(googleApiEndpoint === undefined ? {} : { tpuRestEndpoint: googleApiEndpoint, googleApiEndpoint }),
    },
    ssh: { port: sshPort, ...keysOf(home) },
    googleProject,
  };
}

/** Files of the stack's keys. */
export function keysOf({ sshDir, jobKeySecretFile }: StackHome): Omit<DevContext['ssh'], 'port'> {
  return {
    privateKeyFile: `${sshDir}/id_ed25519`,
    publicKeyFile: `${sshDir}/id_ed25519.pub`,
    jobKeys: { current: pathToFileURL(jobKeySecretFile).href },
  };
}

/** Call rate of the adapter. The rehearsal has no other callers; the default is Google's own limit. */
const REHEARSAL_CALLS_PER_SECOND = 200;

function rehearsedCalls({ timeScale = 1 }: StackRecord): object {
  const { urgentMs, quietMs } = DEFAULT_LISTING_PERIODS;
  const listingPeriods = { urgentMs: scaled(urgentMs, timeScale), quietMs: scaled(quietMs, timeScale) };
  return { callsPerSecond: REHEARSAL_CALLS_PER_SECOND, ...(timeScale === 1 ? {} : { listingPeriods }) };
}

const REHEARSED_MACHINES = 4;

/**
 * The machines that a stack with a rehearsal has as long as its pool file names none (docs/adr/0154). The rehearsal gives no VM
 * and no pod an address that ends with 255.
 */
export const rehearsedMachinesOf = ({ subnetOctet, ssh: port }: StackAddresses) =>
  Array.from({ length: REHEARSED_MACHINES }, (_, index) => ({
    ...{ name: `local-${index + 1}`, user: 'jobctl', port },
    address: `127.${subnetOctet}.${index + 1}.255`,
  }));

/** The worker's configuration file; worker/config.ts owns its schema. */
export function workerConfigOf(home: StackHome, record: StackRecord): object {
  const { temporal, store, cloud, kubeconfig, ssh, googleProject, label, secretStore } = contextOf(home, record);
  const { uiUrl: _ofPeople, ...withoutUi } = temporal;
  const { googleApiEndpoint: _ofTheDoctor, ...ofTheWorker } = cloud;
  const isReal = record.realCloud !== undefined;
  const hasCloud = record.ownMachines === undefined;
  const { jobKeys, ...reach } = ssh;
  return {
    temporal: withoutUi,
    store,
    ...(hasCloud ? { cloud: { ...ofTheWorker, ...(isReal ? {} : rehearsedCalls(record)) } } : {}),
    ...(kubeconfig === undefined ? {} : { kubernetes: { kubeconfig } }),
    // The submitter's files belong to this user, like the worker.
    ssh: { ...reach, jobKeySecret: jobKeys?.current, readsKeyFiles: true },
    ...(googleProject === undefined ? {} : { googleProject }),
    secretStore,
    // A real cloud has no label and uses production waits.
    ...(isReal ? {} : { timings: timingsOf(record) }),
    ...(label === undefined ? {} : { label, rehearsedMachines: rehearsedMachinesOf(record.addresses) }),
    healthPort: record.addresses.health,
    metricsPort: record.addresses.metrics,
    ...(record.quotaFile === null ? {} : { quotaFile: record.quotaFile }),
    ...(record.codec === undefined ? {} : { codec: record.codec }),
    ...(record.poolFile === undefined ? {} : { poolFile: record.poolFile }),
    ...(record.priceFile === undefined ? {} : { priceFile: record.priceFile }),
  };
}

import type { Timings } from '../../../domain/timings.js';
import type { StackHome } from './home.js';
import { readJson } from './stack-record.js';
import type { StackAddresses, StackRecord } from './stack-record.js';
import { DEV_NAMESPACE } from './temporal-server/start-dev.js';

/** What clients of a local stack need; kept in `context.json`. */
export interface DevContext {
  readonly temporal: { readonly address: string; readonly namespace: string; readonly uiUrl: string | null };
  readonly store: { readonly endpoint: string; readonly bucket: string };
  readonly cloud: { readonly tpuEndpoint: string; readonly tpuRestEndpoint: string; readonly insecure: true };
  readonly rehearsal: { readonly adminUrl: string; readonly journalDir: string };
  readonly ssh: { readonly port: number; readonly privateKeyFile: string; readonly publicKeyFile: string };
  readonly googleProject: string;
  readonly label: string;
  /** GET: 200 when the worker is ready. */
  readonly workerReadyUrl: string;
}

export const DEV_BUCKET = 'jobctl-dev';
export const DEV_GOOGLE_PROJECT = 'rehearsal';
/** Shown wherever a user could take the rehearsal for the real cloud. */
export const DEV_LABEL = 'REHEARSAL';
/**
 * A rehearsal answers at once, so what DESIGN.md waits for minutes is done in seconds here: a killed worker's jobs go on
 * after a third of a minute, an unanswered create settles as soon.
 */
const DEV_TIMINGS: Partial<Timings> = {
  createSettleMs: 20_000,
  notFoundApartMs: 1_000,
  heartbeatTimeoutMs: 20_000,
  claimTimeoutMs: 10_000,
  reconcileMs: 10_000,
  rebuildSettleMs: 500,
  zoneBackoffMs: 5_000,
};

const http = (port: number): string => `http://127.0.0.1:${port}`;

/** The context of the stack of that state folder, or undefined when none came up there. */
export function readDevContext(home: StackHome): DevContext | undefined {
  return readJson(home.contextFile) as DevContext | undefined;
}

export function temporalAddressOf({ addresses, temporalAddress }: StackRecord): string {
  return temporalAddress ?? `127.0.0.1:${addresses.temporal}`;
}

export function uiUrlOf({ addresses, temporalAddress }: StackRecord): string | null {
  return temporalAddress === null ? http(addresses.temporalUi) : null;
}

export const readyUrlOf = ({ health }: StackAddresses): string => `${http(health)}/ready`;
export const adminUrlOf = ({ admin }: StackAddresses): string => http(admin);

export function contextOf(home: StackHome, record: StackRecord): DevContext {
  const { addresses } = record;
  return {
    temporal: { address: temporalAddressOf(record), namespace: DEV_NAMESPACE, uiUrl: uiUrlOf(record) },
    store: { endpoint: http(addresses.store), bucket: DEV_BUCKET },
    cloud: { tpuEndpoint: `127.0.0.1:${addresses.tpu}`, tpuRestEndpoint: http(addresses.tpuRest), insecure: true },
    rehearsal: { adminUrl: adminUrlOf(addresses), journalDir: home.rehearsalDir },
    ssh: {
      port: addresses.ssh,
      privateKeyFile: `${home.sshDir}/id_ed25519`,
      publicKeyFile: `${home.sshDir}/id_ed25519.pub`,
    },
    googleProject: DEV_GOOGLE_PROJECT,
    label: DEV_LABEL,
    workerReadyUrl: readyUrlOf(addresses),
  };
}

/** The rehearsal is here alone to be asked; Google's own limit is the adapter's default. */
const REHEARSAL_CALLS_PER_SECOND = 200;

/** The worker's configuration file; worker/config.ts owns its schema. */
export function workerConfigOf(home: StackHome, record: StackRecord): object {
  const { temporal, store, cloud, ssh, googleProject, label } = contextOf(home, record);
  return {
    temporal: { address: temporal.address, namespace: temporal.namespace },
    store,
    cloud: { ...cloud, callsPerSecond: REHEARSAL_CALLS_PER_SECOND },
    ssh,
    googleProject,
    label,
    timings: DEV_TIMINGS,
    healthPort: record.addresses.health,
    ...(record.quotaFile === null ? {} : { quotaFile: record.quotaFile }),
  };
}

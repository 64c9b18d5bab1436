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
/** Where the rehearsal offers capacity; any zone of Google's would do. */
const DEV_ZONES = [
  'us-central1-a',
  'us-central2-b',
  'us-east1-d',
  'us-east5-a',
  'us-east5-b',
  'us-south1-a',
  'us-west1-c',
  'us-west4-a',
  'europe-west4-a',
  'europe-west4-b',
  'asia-east1-c',
  'asia-northeast1-b',
];

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

/** The worker's configuration file; worker/config.ts owns its schema. */
export function workerConfigOf(home: StackHome, record: StackRecord): object {
  const { temporal, store, cloud, ssh, googleProject, label } = contextOf(home, record);
  return {
    temporal: { address: temporal.address, namespace: temporal.namespace },
    store,
    cloud,
    ssh,
    googleProject,
    label,
    zones: DEV_ZONES,
    healthPort: record.addresses.health,
    ...(record.quotaFile === null ? {} : { quotaFile: record.quotaFile }),
  };
}

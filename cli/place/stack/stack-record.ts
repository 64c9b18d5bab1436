import { readFileSync } from 'node:fs';
import type { CodecReferences } from '../../../cloud/codec/codec-key.js';
import type { EpochMs } from '../../../domain/units.js';
import type { StackHome } from '../../terminal/home.js';
import { writePrivate } from '../../terminal/file-on-disk.js';
import type { ProcessIdentity } from './process-identity.js';
import { join } from 'node:path';
import type { LoginFiles } from '../../../cloud/temporal/login-files.js';

/** Parts in the order in which they start. */
export const PART_NAMES = ['server', 'rehearsal', 'worker'] as const;
export type PartName = (typeof PART_NAMES)[number];

/** A background process that was started. `isAlive` tells whether it still runs. */
export interface ProcessRecord {
  readonly identity: ProcessIdentity;
  readonly startedAt: EpochMs;
  /** Fingerprint of the configuration at its start; a different one requires a restart. */
  readonly fingerprint: string;
}

/** Loopback addresses of a stack. Chosen once and kept, so that a restarted stack has the same addresses. */
export interface StackAddresses {
  readonly temporal: number;
  readonly temporalUi: number;
  readonly tpu: number;
  readonly tpuRest: number;
  readonly store: number;
  readonly admin: number;
  readonly health: number;
  /** Port of the worker's metrics. */
  readonly metrics: number;
  /** Port of the rehearsed Kubernetes. */
  readonly kubernetes: number;
  /** Port of every rehearsed TPU VM. */
  readonly ssh: number;
  /** S in 127.S.0.0/16, the addresses of the rehearsed TPU VMs. */
  readonly subnetOctet: number;
}

/** Real Cloud TPU, for a stack that has no rehearsal. */
export interface RealCloud {
  readonly googleProject: string;
  readonly bucket: string;
  /** Endpoints other than Google's, for tests: `host:port`, and URLs. */
  readonly tpuEndpoint?: string;
  readonly googleApiEndpoint?: string;
  readonly storeEndpoint?: string;
  /** SSH port of the hosts; absent: 22. */
  readonly sshPort?: number;
  /** The user said that no other login uses this computer. Its Temporal server, the dev server, does not authenticate callers. */
  readonly isAlone?: true;
}

/** The user's own machines alone, for a stack that has no cloud, simulated or real (docs/adr/0171). */
export interface OwnMachinesAlone {
  /** A folder (`file:///..`) or a bucket. */
  readonly bucket: string;
  /** URL of an S3 server that is not Amazon's. */
  readonly endpoint?: string;
}

export interface StackRecord {
  readonly v: 1;
  readonly addresses: StackAddresses;
  /** Absent: the rehearsal, or own machines alone. Fixed when the state folder gets its stack: jobs and slices of two clouds do not mix. */
  readonly realCloud?: RealCloud;
  /** Fixed as `realCloud` is, which is absent then. */
  readonly ownMachines?: OwnMachinesAlone;
  /** Address of a Temporal server that is not the stack's own; null: its own. */
  readonly temporalAddress: string | null;
  /** Absolute path; null: the unlimited pool `default`. */
  readonly quotaFile: string | null;
  /** Absent: payloads are plain. */
  readonly codec?: CodecReferences;
  /** Absolute path; absent: no pool file. */
  readonly poolFile?: string;
  /** The operator's prices: an absolute path or `gs://BUCKET/OBJECT`; absent: public prices alone. */
  readonly priceFile?: string;
  /** Speed of the rehearsal's clock relative to this computer's; absent: 1. jobctl's waits scale with it. */
  readonly timeScale?: number;
  readonly parts: Readonly<Partial<Record<PartName, ProcessRecord>>>;
}

/** Returns whether the stack's own Temporal server authenticates callers, who could act with the user's Google login. */
export function isGuarded({ realCloud, temporalAddress }: Pick<StackRecord, 'realCloud' | 'temporalAddress'>): boolean {
  return temporalAddress === null && realCloud !== undefined && realCloud.isAlone !== true;
}

/** The stack of that state folder, or undefined if none was started there. */
export function readStackRecord(home: StackHome): StackRecord | undefined {
  const record = readJson(home.recordFile) as StackRecord | undefined;
  if (record !== undefined && record.v !== 1) {
    throw new Error(`${home.recordFile}: version ${String(record.v)} is of another jobctl; stop that stack with it`);
  }
  return record;
}

/** Call only under the stack's lock. */
export function writeStackRecord(home: StackHome, record: StackRecord): void {
  writeJson(home.recordFile, record);
}

/** Replaces a whole file: a reader, or a start after a crash, sees the old one or the new one. */
export function writeJson(path: string, value: unknown): void {
  writePrivate(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** The file's JSON, or undefined if the file does not exist. */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (err) {
    const { code = '' } = err as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw err;
  }
  try {
    return JSON.parse(text);
  } catch (err) {
    throw new Error(`${path}: is not JSON (${(err as Error).message}); delete it to begin anew`, { cause: err });
  }
}

/** The first line that a user must see about a stack on real Cloud TPU. */
export function billedLine({ googleProject }: { readonly googleProject: string }): string {
  return `REAL Cloud TPU, billed to project ${googleProject}: a slice costs from its creation until it is deleted`;
}

/** The one name in the server's certificate. */
export const SERVER_NAME = 'localhost';

/** Files in the state folder of a server that authenticates callers: mode 0600 in a folder of mode 0700. */
export interface ServerFiles {
  readonly folder: string;
  /** The certificate authority that server and clients trust. Its key is not stored. */
  readonly authority: string;
  /** The certificate of the frontend. The server's services also use it among each other. */
  readonly certificate: string;
  readonly certificateKey: string;
  /** The only API key: a JWT that allows its holder everything. */
  readonly apiKey: string;
  /** The configuration file, in the folder `config`. */
  readonly configuration: string;
  readonly dynamicConfiguration: string;
}

export function serverFiles({ serverDir: folder }: Pick<StackHome, 'serverDir'>): ServerFiles {
  return {
    folder,
    authority: join(folder, 'ca.pem'),
    certificate: join(folder, 'server.pem'),
    certificateKey: join(folder, 'server-key.pem'),
    apiKey: join(folder, 'api-key'),
    configuration: join(folder, 'config', 'stack.yaml'),
    dynamicConfiguration: join(folder, 'config', 'dynamic.yaml'),
  };
}

/** Login files for clients of that server. */
export function serverLoginFiles(home: Pick<StackHome, 'serverDir'>): LoginFiles {
  const { authority, apiKey } = serverFiles(home);
  return { tlsCaFile: authority, tlsServerName: SERVER_NAME, apiKeyFile: apiKey };
}

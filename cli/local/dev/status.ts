import type { EpochMs } from '../../../domain/units.js';
import { metricsUrlOf, temporalAddressOf, uiUrlOf } from '../../place/stack/context.js';
import { stackHome, type StackHome } from '../../terminal/home.js';
import { guardedLine } from './guarded-server/guarded-part.js';
import { type DevOptions, isPartReady, isRecordedAlive, partsOf, reasonsOf, slotOf } from './stack-parts.js';
import {
  isGuarded,
  readStackRecord,
  type OwnMachinesAlone,
  type PartName,
  type RealCloud,
  type StackAddresses,
  type StackRecord,
} from '../../place/stack/stack-record.js';
import { followLines, readTail } from './part.js';

/**
 * `ready`: runs and answers. `not ready`: runs, does not answer. `dead`: exited or was killed; `dev up` starts it again.
 * `stopped`: not started, or ended by `dev down`.
 */
export type PartState = 'ready' | 'not ready' | 'dead' | 'stopped';

export interface PartStatus {
  readonly name: PartName;
  readonly state: PartState;
  /** Its address, for people. */
  readonly address: string;
  readonly pid: number | null;
  readonly since: EpochMs | null;
  readonly logFile: string;
  /** Reasons that a part gives for not being ready. Absent: it is ready, or gives none. */
  readonly reasons?: readonly string[];
}

export interface DevStatus {
  readonly home: string;
  /** True if all parts of the stack are ready. */
  readonly up: boolean;
  /** Address of the Temporal server, ours or a configured one. */
  readonly temporalAddress: string | null;
  /** URL of the Temporal Web UI; null if the server is not ours. */
  readonly uiUrl: string | null;
  /** URL of the worker's metrics. Absent: no stack was ever started. */
  readonly metricsUrl?: string;
  /** Login to a server that authenticates callers, for people. Absent: it does not, or it is not ours. */
  readonly login?: string;
  /** Absent: the rehearsal, or own machines alone. */
  readonly realCloud?: { readonly googleProject: string; readonly bucket: string };
  /** The stack has the user's own machines alone. */
  readonly ownMachines?: OwnMachinesAlone;
  /** Empty if no stack was ever started in this state folder. */
  readonly parts: readonly PartStatus[];
}

/** Reads the status; changes nothing and takes no lock. */
export async function devStatus({ env = process.env }: DevOptions = {}): Promise<DevStatus> {
  const home = stackHome(env);
  const record = readStackRecord(home);
  if (record === undefined) return { home: home.root, up: false, temporalAddress: null, uiUrl: null, parts: [] };
  const parts = await Promise.all(
    partsOf(record).map(async (name): Promise<PartStatus> => {
      const state = await stateOf(home, name, record);
      const known = state === 'stopped' ? undefined : record.parts[name];
      const { logFile } = slotOf(home, name);
      const address = addressOf(name, record.addresses);
      const reasons = state === 'not ready' ? await reasonsOf(name, record) : [];
      return {
        ...{ name, state, address, pid: known?.identity.pid ?? null, since: known?.startedAt ?? null, logFile },
        ...(reasons.length > 0 && { reasons }),
      };
    }),
  );
  const up = parts.every(({ state }) => state === 'ready');
  return {
    ...{ home: home.root, up, temporalAddress: temporalAddressOf(record), uiUrl: uiUrlOf(record) },
    metricsUrl: metricsUrlOf(record.addresses),
    ...(isGuarded(record) ? { login: guardedLine(home, temporalAddressOf(record)) } : {}),
    ...(record.realCloud === undefined ? {} : { realCloud: placeOf(record.realCloud) }),
    ...(record.ownMachines === undefined ? {} : { ownMachines: record.ownMachines }),
    parts,
  };
}

function placeOf({ googleProject, bucket }: RealCloud): NonNullable<DevStatus['realCloud']> {
  return { googleProject, bucket };
}

async function stateOf(home: StackHome, name: PartName, record: StackRecord): Promise<PartState> {
  const process = record.parts[name];
  if (process === undefined) return 'stopped';
  if (!isRecordedAlive(process)) return 'dead';
  return (await isPartReady(home, name, record)) ? 'ready' : 'not ready';
}

function addressOf(name: PartName, addresses: StackAddresses): string {
  switch (name) {
    case 'server':
      return `127.0.0.1:${addresses.temporal}`;
    case 'rehearsal':
      return `127.0.0.1:${addresses.tpu}`;
    case 'worker':
      return `127.0.0.1:${addresses.health}`;
  }
}

interface DevLogsOptions extends DevOptions {
  /** Absent: all parts. */
  readonly part?: PartName;
  /** Lines per part, from the end. */
  readonly tail: number;
  /** Continues with new lines until `signal` aborts. */
  readonly follow?: { readonly signal: AbortSignal };
}

export interface LogLine {
  readonly part: PartName;
  readonly text: string;
}

/** Passes on the output of the parts: one part's lines after another's and then, if following, new lines as they come. */
export async function devLogs(options: DevLogsOptions, onLine: (line: LogLine) => void): Promise<void> {
  const home = stackHome(options.env ?? process.env);
  const record = readStackRecord(home);
  if (record === undefined) throw new Error(`No stack in ${home.root}: start one with \`jobctl dev up\``);
  const parts = options.part === undefined ? partsOf(record) : [options.part];
  const files = parts.map((part) => ({ part, path: slotOf(home, part).logFile }));
  // Opened before the tail is printed, so that a line in between is printed twice rather than lost.
  const followed = files.map(({ part, path }) => ({
    part,
    lines: options.follow && followLines(path, options.follow.signal),
  }));
  for (const { part, path } of files) {
    const text = readTail(path, options.tail);
    if (text !== '') for (const line of text.split('\n')) onLine({ part, text: line });
  }
  await Promise.all(
    followed.map(async ({ part, lines }) => {
      if (lines !== undefined) for await (const text of lines) onLine({ part, text });
    }),
  );
}

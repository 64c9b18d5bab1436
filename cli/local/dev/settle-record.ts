import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatProblems } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { chooseAddresses, type Reservations } from './addresses.js';
import type { StackHome } from '../../terminal/home.js';
import { stopPart } from './part.js';
import { type DevOptions, isRecordedAlive, partsOf, slotOf, STOP_GRACE_MS } from './stack-parts.js';
import { writeEverybodysQuota } from './own-machines.js';
import type { CloudWish, StackCloud } from './real-cloud.js';
import { PART_NAMES, readStackRecord, writeStackRecord, type StackRecord } from '../../place/stack/stack-record.js';
import type { CodecReferences } from '../../../cloud/codec/codec-key.js';

export interface DevUpOptions extends DevOptions {
  /** A Bastion quota file; null: none any more; absent: unchanged. */
  readonly quotaFile?: string | null;
  /** Reference of the key that encrypts payloads; null: none any more; absent: unchanged. */
  readonly codecKey?: string | null;
  /** A pool file; null: none any more; absent: unchanged. */
  readonly poolFile?: string | null;
  /** The operator's prices: a path or `gs://BUCKET/OBJECT`; null: none any more; absent: unchanged. */
  readonly priceFile?: string | null;
  /** A running Temporal server; null: jobctl's own; absent: unchanged. */
  readonly temporalAddress?: string | null;
  /** The cloud of the stack. Absent: unchanged, or the rehearsal for a new stack. */
  readonly cloud?: CloudWish;
  /** Asks the user at the terminal; absent: there is no user to ask. */
  readonly confirm?: (question: string) => Promise<boolean>;
  /** Required ports; absent: unchanged, or free ones. */
  readonly temporalPort?: number;
  readonly uiPort?: number;
  /** Speed of the cloud's clock relative to this computer's, 1 or more; absent: unchanged. The rehearsal needs the same. */
  readonly timeScale?: number;
}

/** Records the wanted state of the stack before anything is started. */
export async function settleRecord(
  home: StackHome,
  options: DevUpOptions,
  reservations: Reservations,
  cloud: StackCloud,
  onProgress: (line: string) => void,
): Promise<StackRecord> {
  const known = readStackRecord(home);
  const temporalAddress =
    options.temporalAddress === undefined ? (known?.temporalAddress ?? null) : options.temporalAddress;
  const pool = await settlePoolFile(known?.poolFile, options.poolFile);
  const prices = await settlePriceFile(known?.priceFile, options.priceFile);
  const quotaFile = await settleQuotaFile(home, known, options.quotaFile, { ...cloud, ...pool });
  const codec = await settleCodec(known?.codec, options.codecKey);
  if (known !== undefined && isServerToEnd(known, temporalAddress, options)) await stopServer(home, onProgress);
  const parts = readStackRecord(home)?.parts ?? {};
  const exact = {
    ...(options.temporalPort === undefined ? {} : { temporal: options.temporalPort }),
    ...(options.uiPort === undefined ? {} : { temporalUi: options.uiPort }),
  };
  const running = new Set(PART_NAMES.filter((name) => isRecordedAlive(parts[name])));
  const wishes = { known: known?.addresses, running, exact, parts: partsOf({ temporalAddress, ...cloud }), onProgress };
  const addresses = await chooseAddresses(home, reservations, wishes);
  const keys = codec === undefined ? {} : { codec };
  const timeScale = options.timeScale ?? known?.timeScale;
  const clock = timeScale === undefined ? {} : { timeScale };
  const files = { quotaFile, ...pool, ...prices };
  const record: StackRecord = { v: 1, addresses, ...cloud, temporalAddress, ...files, ...keys, ...clock, parts };
  writeStackRecord(home, record);
  return record;
}

/** Own machines alone have a quota file without being told: it says that everybody may use all of them. */
async function settleQuotaFile(
  home: StackHome,
  known: StackRecord | undefined,
  wanted: string | null | undefined,
  { ownMachines, poolFile }: StackCloud & Pick<StackRecord, 'poolFile'>,
): Promise<string | null> {
  const named = wanted === undefined ? (known?.quotaFile ?? undefined) : readableFile(wanted, 'quota');
  const isTheirs = named === undefined || named === home.machinesQuotaFile;
  if (ownMachines === undefined || poolFile === undefined || !isTheirs) return named ?? null;
  return writeEverybodysQuota(home, poolFile);
}

/** Returns whether our own server runs but is no longer wanted, or wanted on other ports. */
function isServerToEnd(known: StackRecord, temporalAddress: string | null, options: DevUpOptions): boolean {
  if (!isRecordedAlive(known.parts.server)) return false;
  const { temporalPort = known.addresses.temporal, uiPort = known.addresses.temporalUi } = options;
  const hasOtherPorts = temporalPort !== known.addresses.temporal || uiPort !== known.addresses.temporalUi;
  return temporalAddress !== null || hasOtherPorts;
}

async function stopServer(home: StackHome, onProgress: (line: string) => void): Promise<void> {
  onProgress('Stopping our Temporal server: another address is wanted');
  await stopPart({ stopGraceMs: STOP_GRACE_MS.server }, slotOf(home, 'server'));
}

export function absoluteOrNull(path: string | null): string | null {
  return path === null ? null : resolve(path);
}

/** @throws Error with all problems of the pool file: a worker would not become ready with it */
async function settlePoolFile(
  known: string | undefined,
  wanted: string | null | undefined,
): Promise<Pick<StackRecord, 'poolFile'>> {
  if (wanted === undefined) return known === undefined ? {} : { poolFile: known };
  const poolFile = readableFile(wanted, 'pool');
  if (poolFile === null) return {};
  const { parsePoolFile } = await import('../../../quota/files/pool-file.js');
  const parsed = parsePoolFile(readFileSync(poolFile, 'utf8'), poolFile, 'default');
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  return { poolFile };
}

/** @throws Error with all problems of the file: while it is wrong, jobs would have public prices */
async function settlePriceFile(
  known: string | undefined,
  wanted: string | null | undefined,
): Promise<Pick<StackRecord, 'priceFile'>> {
  if (wanted === undefined) return known === undefined ? {} : { priceFile: known };
  if (wanted === null || isInBucket(wanted)) return wanted === null ? {} : { priceFile: wanted };
  const priceFile = readableFile(wanted, 'price');
  if (priceFile === null) return {};
  const { parsePriceFile } = await import('../../../quota/files/price-file.js');
  const parsed = parsePriceFile(readFileSync(priceFile, 'utf8'), priceFile);
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  return { priceFile };
}

const isInBucket = (place: string): boolean => place.startsWith('gs://');

/** A price file as the record of a stack has it. */
export const placeOfPrices = (place: string | null): string | null =>
  place === null || isInBucket(place) ? place : resolve(place);

function readableFile(path: string | null, kind: 'quota' | 'pool' | 'price'): string | null {
  const absolute = absoluteOrNull(path);
  if (absolute === null) return null;
  if (!existsSync(absolute)) throw new Error(`${kind} file ${absolute}: does not exist`);
  accessSync(absolute, constants.R_OK);
  return absolute;
}

/**
 * The keys of a stack from now on. Earlier keys stay for decoding, because the database holds data encrypted with them.
 * @param wish null: new data are not encrypted; undefined: unchanged
 * @throws CodecKeyError, CliError before anything is started
 */
export async function settleCodec(
  known: CodecReferences | undefined,
  wish: string | null | undefined,
): Promise<CodecReferences | undefined> {
  const codec = wish === undefined ? known : withKey(known, wish);
  if (codec === undefined) return undefined;
  const { openCodec } = await import('../../../cloud/codec/payload-codec.js');
  await openCodec(codec, { onUnknownKey: 'fail' });
  return codec;
}

function withKey(known: CodecReferences | undefined, key: string | null): CodecReferences | undefined {
  if (key?.startsWith('env:')) {
    const why = 'the stack outlives this shell, and remembers where its key is';
    throw new CliError(ExitCode.Usage, `--codec-key ${key}: is in this shell alone`, why, 'name a file: file:///PATH');
  }
  const before = [known?.key, ...(known?.decodeKeys ?? [])].filter((each) => each !== undefined && each !== key);
  const decodeKeys = [...new Set(before)] as string[];
  if (key === null && decodeKeys.length === 0) return undefined;
  return { ...(key === null ? {} : { key }), ...(decodeKeys.length === 0 ? {} : { decodeKeys }) };
}

import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { missingKeyOf } from '../../cloud/codec/codec-key.js';
import { isEncrypted } from '../../cloud/codec/payload-codec.js';
import { readAtMost, type StoreReader } from '../../cloud/store/port.js';
import type { AttemptRecord } from '../../contract/job-activities.js';
import { sliceWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import type { Outcome, JobResult } from '../../domain/job-state.js';
import { attemptObject, jobPrefix, outcomeObject } from '../../domain/store-layout.js';
import { JobEncrypted, JobNotFound } from '../errors.js';
import { isGroup } from '../job-executions.js';
import { storedJobLog } from '../job-logs.js';
import { TemporalCalls } from '../temporal-calls.js';
import { HistoryReader, type Run } from './history-reader.js';
import { Pseudonyms } from './pseudonyms.js';
import { type DecodePayloads, EventRedaction } from './redact-event.js';
import { redactValue } from './redact-value.js';
import { decide } from '../../domain/recovery/decide.js';
import type { Facts } from '../../domain/recovery/facts.js';

/**
 * The file that `jobctl export` writes and test/incidents replays (docs/adr/0050). `expected` holds the job's actual result. If
 * jobctl decided wrongly, write the correct result there: the test then fails until jobctl decides so.
 */
export interface Incident {
  readonly format: 'jobctl-incident';
  readonly v: 1;
  readonly jobctl: string;
  readonly expected: Expected;
  readonly attempts: readonly AttemptRecord[];
  readonly outcome?: Outcome;
  /** The job's own log. */
  readonly log: readonly string[];
  readonly histories: readonly IncidentHistory[];
  /** Parts that are not in the file, with the reason. */
  readonly missing: readonly string[];
}

interface IncidentHistory {
  readonly workflowId: string;
  readonly runId: string;
  readonly events: readonly unknown[];
}

export interface Expected {
  readonly attempts: readonly ExpectedAttempt[];
  readonly outcome: JobResult | 'goes on';
}

/** A value is absent if neither hosts nor slices ended the attempt (a cancel), or if the record is of an older version. */
export interface ExpectedAttempt {
  readonly attempt: number;
  readonly end?: Facts<'attempt ended'>['end'];
  /** The job's action after the attempt, in the words of `afterText`. */
  readonly next?: string;
}

/** The action of a job after an attempt that ended with these facts: `succeed`, `retry (preemption)`, `fail (task)`. */
export function afterText(facts: Facts<'attempt ended'>): string {
  const decision = decide('attempt ended', facts);
  if (decision.do === 'retry') return `retry (${decision.budget})`;
  return decision.do === 'fail' ? `fail (${decision.by})` : decision.do;
}

/** The outcome that follows from the last action (`afterText`), or else the stored outcome (`told`). */
export function outcomeAfter(next: string | undefined, told: Outcome | undefined): Expected['outcome'] {
  if (next === 'succeed') return 'succeeded';
  if (next?.startsWith('fail') === true) return 'failed';
  return told?.result ?? 'goes on';
}

/** The attempts and outcome of the job according to its records. */
function recordedExpectation(attempts: readonly AttemptRecord[], outcome: Outcome | undefined): Expected {
  const expected = attempts.map(({ attempt, ended }) => ({
    attempt,
    ...(ended && { end: ended.end, next: afterText(ended) }),
  }));
  return { attempts: expected, outcome: outcome?.result ?? 'goes on' };
}

export interface ExportSources {
  readonly temporal: Client;
  /** `Temporal at A`, for messages. */
  readonly server: string;
  /** Absent: no bucket is configured. */
  readonly store?: StoreReader;
  readonly version: string;
}

/** Receives the file piece by piece, in order. */
export type Write = (text: string) => Promise<void>;

/**
 * Most bytes of histories, as Temporal counts them: the export of a job that ran for months can still be attached to an issue.
 */
const MOST_HISTORY_BYTES = 33_554_432;
const MOST_ATTEMPTS = 500;
const MOST_LOG_LINES = 5_000;

export interface Exported {
  readonly attempts: number;
  readonly histories: number;
  readonly missing: readonly string[];
}

/**
 * Writes all records of a job, without secrets, as one JSON file (`Incident`). Histories are streamed page by
 * page; omitted parts are named in the file and in the answer.
 * @throws JobNotFound, JobEncrypted
 */
export async function exportJob(id: string, sources: ExportSources, write: Write): Promise<Exported> {
  const { temporal, server, store, version } = sources;
  const missing: string[] = [];
  const names = new Pseudonyms();
  const reader = new HistoryReader(temporal, new TemporalCalls(temporal, server));
  const runs = await reader.runsOf(id);
  if (runs.found.length > 0 && runs.type !== WorkflowType.Job) throw await notFound(id, sources);
  for (const { firstRunId, runId } of runs.found) for (const run of [firstRunId, runId]) names.keepRunId(run);
  const records = await readRecords(id, store, missing);
  if (runs.found.length === 0 && records.isEmpty) throw await notFound(id, sources);
  missing.push(...runs.missing);
  if (runs.found.length === 0)
    missing.push(
      'histories: Temporal knows nothing of the job any more; its decisions of hosts and slices can be played, its workflow cannot',
    );

  const decode = decoding(id, temporal.options.loadedDataConverter.payloadCodecs);
  const redaction = new EventRedaction(names, decode);
  // The user's words are known before a sentence is written.
  names.user(id);
  redactValue([records.attempts, records.outcome], names);
  for (const run of runs.found)
    for await (const start of reader.events(run, 1)) {
      await redaction.redact(start);
      break;
    }

  const { attempts, outcome, log } = records;
  const shown = (value: unknown): string => JSON.stringify(redactValue(value, names));
  await write(`{"format":"jobctl-incident","v":1,"jobctl":${JSON.stringify(version)},\n`);
  await write(`"expected":${JSON.stringify(recordedExpectation(attempts, outcome), undefined, 1)},\n`);
  await write(`"attempts":[${attempts.map((attempt) => `\n${shown(attempt)}`).join(',')}],\n`);
  if (outcome !== undefined) await write(`"outcome":${shown(outcome)},\n`);
  await write(`"log":[${log.map((line) => `\n${JSON.stringify(names.said(line))}`).join(',')}],\n"histories":[`);
  const histories = new HistoryWriter({ reader, redaction, names, write });
  await histories.writeRuns(runs.found, missing);
  for (const slice of histories.slices) {
    const its = await reader.runsOf(slice);
    missing.push(...its.missing);
    if (its.found.length === 0) missing.push(`history of a slice: Temporal knows nothing of it any more`);
    await histories.writeRuns(its.found, missing);
  }
  await write(`],\n"missing":${JSON.stringify(missing)}}\n`);
  return { attempts: attempts.length, histories: histories.count, missing };
}

/** A group has no record of its own: each member has. */
async function notFound(id: string, { temporal, server }: ExportSources): Promise<JobNotFound> {
  const calls = new TemporalCalls(temporal, server);
  return new JobNotFound(
    id,
    `in namespace ${temporal.options.namespace} of ${server}`,
    await isGroup({ temporal, calls }, id),
  );
}

// Histories ------------------------------------------------------------------------------------------------------------

interface WriterParts {
  readonly reader: HistoryReader;
  readonly redaction: EventRedaction;
  readonly names: Pseudonyms;
  readonly write: Write;
}

class HistoryWriter {
  count = 0;
  readonly slices = new Set<string>();
  #bytes = 0;
  readonly #parts: WriterParts;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  /** Writes the newest runs first, as many as fit. */
  async writeRuns(runs: readonly Run[], missing: string[]): Promise<void> {
    for (const run of runs) {
      if (this.#bytes + run.bytes > MOST_HISTORY_BYTES) {
        missing.push(
          `history of run ${run.runId}: with its ${run.bytes} bytes there would be more than ${MOST_HISTORY_BYTES}`,
        );
        continue;
      }
      this.#bytes += run.bytes;
      await this.#writeRun(run);
    }
  }

  async #writeRun({ workflowId, runId }: Run): Promise<void> {
    const { reader, redaction, names, write } = this.#parts;
    const shownId = JSON.stringify(names.id(workflowId));
    await write(`${this.count === 0 ? '' : ','}\n{"workflowId":${shownId},"runId":${JSON.stringify(runId)},"events":[`);
    this.count += 1;
    let isFirst = true;
    for await (const event of reader.events({ workflowId, runId })) {
      this.#noteSlice(event);
      await write(`${isFirst ? '' : ','}\n${JSON.stringify(await redaction.redact(event))}`);
      isFirst = false;
    }
    await write(']}');
  }

  #noteSlice(event: unknown): void {
    const { startChildWorkflowExecutionInitiatedEventAttributes: child } = event as {
      startChildWorkflowExecutionInitiatedEventAttributes?: { workflowId?: string };
    };
    if (child?.workflowId?.startsWith(sliceWorkflowId('')) === true) this.slices.add(child.workflowId);
  }
}

type Codecs = Client['options']['loadedDataConverter']['payloadCodecs'];

/** @throws JobEncrypted if a payload needs a key that is missing here: half a job must not pass for a whole one */
function decoding(id: string, codecs: Codecs): DecodePayloads {
  return async (payloads) => {
    let decoded: Payload[] = payloads;
    for (const codec of codecs.toReversed()) decoded = await codec.decode(decoded);
    payloads.forEach((payload, at) => {
      if (!isEncrypted(payload)) return;
      const keyId = missingKeyOf(JSON.parse(Buffer.from(decoded[at]?.data ?? []).toString() || 'null'));
      if (keyId !== undefined) throw new JobEncrypted(id, keyId);
    });
    return decoded;
  };
}

// Records --------------------------------------------------------------------------------------------------------------

interface Records {
  readonly isEmpty: boolean;
  readonly attempts: readonly AttemptRecord[];
  readonly outcome?: Outcome;
  readonly log: readonly string[];
}

async function readRecords(id: string, store: StoreReader | undefined, missing: string[]): Promise<Records> {
  if (store === undefined) {
    missing.push('attempts, outcome and log: no bucket is configured (--bucket or JOBCTL_BUCKET)');
    return { isEmpty: true, attempts: [], log: [] };
  }
  const listed = await store.list(attemptsPrefix(id));
  const numbers = listed
    .flatMap(({ name }) => Number(/\/(\d{1,9})\.json$/.exec(name)?.[1] ?? NaN))
    .filter(Number.isInteger);
  const wanted = numbers.toSorted((a, b) => a - b).slice(-MOST_ATTEMPTS);
  if (wanted.length < numbers.length) missing.push(`attempts: only the last ${MOST_ATTEMPTS} of ${numbers.length}`);
  const attempts: AttemptRecord[] = [];
  for (const number of wanted) {
    const record = await readJson<AttemptRecord>(store, attemptObject(id, number), missing);
    if (record !== undefined) attempts.push(record);
    if (record?.endedAt !== undefined && record.ended === undefined && record.end !== 'cancelled')
      missing.push(`attempt ${number}: its record does not say what was decided by (an older jobctl wrote it)`);
  }
  const outcome = await readJson<Outcome>(store, outcomeObject(id), missing);
  const lines = (await storedJobLog(store, id)).toString('utf8').split('\n').filter(Boolean);
  if (lines.length > MOST_LOG_LINES) missing.push(`log: only the last ${MOST_LOG_LINES} of ${lines.length} lines`);
  if (outcome === undefined) missing.push('outcome: the bucket has none; the job has not ended, or was terminated');
  const isEmpty = attempts.length === 0 && outcome === undefined && lines.length === 0;
  return { isEmpty, attempts, ...(outcome && { outcome }), log: lines.slice(-MOST_LOG_LINES) };
}

const attemptsPrefix = (id: string): string => `${jobPrefix(id)}attempts/`;

async function readJson<T>(store: StoreReader, name: string, missing: string[]): Promise<T | undefined> {
  const stored = await readAtMost(store, name);
  if (stored === undefined) return undefined;
  try {
    return JSON.parse(stored.toString('utf8')) as T;
  } catch {
    missing.push(`${name.slice(name.indexOf('/', 'jobs/'.length) + 1)}: the object in the bucket is no JSON`);
    return undefined;
  }
}

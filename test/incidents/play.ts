import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import {
  afterText,
  type Expected,
  type ExpectedAttempt,
  type Incident,
  outcomeAfter,
} from '../../client/export/export-job.js';
import type { AttemptRecord } from '../../contract/job-activities.js';
import { verdictOn } from '../../domain/recovery/evidence.js';
import { endFact } from '../../workflows/job/attempt-record.js';

/** An export (`jobctl export`), packed or not. */
export function readIncident(file: string): Incident {
  const bytes = readFileSync(file);
  const incident = JSON.parse((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')) as Incident;
  if (incident.format === 'jobctl-incident' && incident.v === 1) return incident;
  throw new TypeError(
    `${file}: format '${String(incident.format)}', v ${String(incident.v)}; wanted jobctl-incident, v 1`,
  );
}

/** What the job comes to by the decisions of this build, given what its workers knew. */
export function play({ attempts, outcome }: Incident): Expected {
  const played = attempts.map(playAttempt);
  const last = played.at(-1);
  const told = attempts.at(-1)?.ended;
  const isAsTold = told !== undefined && last?.next === afterText(told);
  return { attempts: played, outcome: outcomeAfter(last?.next, isAsTold || told === undefined ? outcome : undefined) };
}

function playAttempt({ attempt, evidence, ended }: AttemptRecord): ExpectedAttempt {
  if (ended === undefined) return { attempt };
  const verdict = evidence && verdictOn(evidence);
  // Silence is told by hosts to their worker, and its last sign is no part of a decision.
  const end = verdict === undefined || verdict.kind === 'no-output' ? ended.end : fact(verdict);
  // Which codes ask for another start is the job file's word, and no evidence.
  const isAsked = end === 'another code' && ended.end === 'restart code';
  return { attempt, end, next: afterText({ ...ended, end: isAsked ? ended.end : end }) };
}

function fact(verdict: Exclude<ReturnType<typeof verdictOn>, { kind: 'no-output' }>) {
  if (verdict.kind === 'fenced') throw new TypeError('an attempt that a later one fenced off has no evidence');
  return endFact(verdict, {});
}

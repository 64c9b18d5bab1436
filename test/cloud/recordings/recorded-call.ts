import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Recording } from '../../../cli/doctor/recordings/recording.js';
import type { JsonObject } from '../../../rehearsal/json.js';
import { findStatus, STATUS_CODES } from '../../../rehearsal/tpu/api-error.js';
import { findRule } from '../../../rehearsal/tpu/http-rules.js';
import { readRequest } from '../../../rehearsal/tpu/rest-request.js';

/** A recording as it lies in a file. Those that people published have more to say than those that jobctl wrote. */
export interface RecordedFile extends Recording {
  readonly name: string;
  /** Of a published example: where it was read, of which day it is, and what was taken from there. */
  readonly sources?: readonly { readonly where: string; readonly date: string; readonly gives: string }[];
  /** Only what the sources show is here: the answer had more fields. */
  readonly partial?: true;
  /** The state in which the service gave the request up. */
  readonly from?: string;
  /** What the adapter must make of it, as `RecordedCloud.reading` says it. */
  readonly reads?: string;
  /** Verbs of the rehearsal's admin interface, before it is asked the same. */
  readonly stage?: readonly { readonly verb: string; readonly body: JsonObject }[];
}

/** A recorded call of Cloud TPU v2, over whichever wire it came. */
export interface RecordedCall {
  readonly file: RecordedFile;
  /** The RPC's name. */
  readonly method: string;
  readonly request: JsonObject;
  /** google.rpc.Code. */
  readonly code: number;
  /** The message, or google.rpc.Status. */
  readonly answer: JsonObject;
}

export const PUBLISHED = fileURLToPath(new URL('./published', import.meta.url));

/** In the order of their names, which is that in which they were made. */
export function recordingsIn(folder: string): readonly RecordedFile[] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted();
  if (names.length === 0) throw new Error(`${folder}: has no recordings (files that end in .json)`);
  return names.map((name) => {
    const recording = JSON.parse(readFileSync(join(folder, name), 'utf8')) as RecordedFile;
    if (recording.format !== 1) throw new Error(`${join(folder, name)}: format ${recording.format}, wanted 1`);
    return { ...recording, name };
  });
}

/** Undefined for a call of another API, such as Resource Manager's. */
export function callOf(file: RecordedFile): RecordedCall | undefined {
  if (file.wire === 'rest') return restCall(file);
  const [service = '', method = ''] = file.method.split('/');
  if (service !== 'google.cloud.tpu.v2.Tpu' && service !== 'google.longrunning.Operations') return undefined;
  return { file, method, request: file.request as JsonObject, code: file.code, answer: file.answer as JsonObject };
}

function restCall(file: RecordedFile): RecordedCall | undefined {
  const [verb = '', service, path = ''] = file.method.split(' ');
  const { pathname, searchParams } = new URL(path, 'http://tpu');
  const found = service === 'tpu' ? findRule(verb, pathname) : undefined;
  if (found === undefined || found.rule.version !== 'v2') return undefined;
  const body = file.request === null ? '' : JSON.stringify(file.request);
  const request = readRequest(found.rule, found.values, { query: searchParams, contentType: 'application/json', body });
  const { method } = found.rule;
  if (file.code < 400) return { file, method, request, code: 0, answer: file.answer as JsonObject };
  const { message = '', status = '', details } = (file.answer as { error: Readonly<Record<string, string>> }).error;
  const code = STATUS_CODES[findStatus(status) ?? 'UNKNOWN'][0];
  return { file, method, request, code, answer: { code, message, ...(details !== undefined && { details }) } };
}

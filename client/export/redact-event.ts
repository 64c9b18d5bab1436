import type { Payload } from '@temporalio/common';
import { CHANGES } from '../../contract/changes.js';
import type { Pseudonyms } from './pseudonyms.js';
import { redactValue } from './redact-value.js';

/** Decodes payloads like the installation's payload codec. */
export type DecodePayloads = (payloads: Payload[]) => Promise<Payload[]>;

interface JsonPayload {
  readonly metadata: Readonly<Record<string, string>>;
  readonly data?: string;
}

/**
 * Redacts an event of a history in Temporal's JSON. Payloads are decoded, redacted, and plain JSON afterwards. Values that a
 * replay compares or draws from stay as they are: numbers of events, types, times, run ids, markers of changes.
 */
export class EventRedaction {
  readonly #names: Pseudonyms;
  readonly #decode: DecodePayloads;

  constructor(names: Pseudonyms, decode: DecodePayloads) {
    this.#names = names;
    this.#decode = decode;
  }

  async redact(event: unknown): Promise<unknown> {
    return this.#value('', event);
  }

  async #value(key: string, value: unknown): Promise<unknown> {
    if (typeof value === 'string') return this.#text(key, value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return Promise.all(value.map((item: unknown) => this.#value(key, item)));
    if (AS_IT_IS.has(key)) return value;
    if (isPayload(value)) return this.#payload(value);
    if ('encodedAttributes' in value) return this.#value(key, await this.#plainFailure(value));
    if ('markerName' in value && isChangeMarker(value)) return value;
    const isMap = key === 'fields' || key === 'indexedFields' || key === 'details';
    const entries = Object.entries(value).map(async ([name, child]) => [
      isMap ? this.#names.words(name) : name,
      await this.#value(name, child),
    ]);
    return Object.fromEntries(await Promise.all(entries)) as unknown;
  }

  #text(key: string, text: string): string {
    if (DROPPED.has(key)) return '';
    if (isRunId(key)) {
      this.#names.keepRunId(text);
      return text;
    }
    if (NUMBERS.test(key) && /^\d+$/.test(text)) return text;
    if (TIME.test(text) || (ENUMS.test(key) && /^[A-Z][A-Z0-9_]+$/.test(text))) return text;
    return this.#names.words(text);
  }

  async #payload(payload: JsonPayload): Promise<JsonPayload> {
    const { metadata, data } = await this.#decoded(payload);
    const encoding = metadata['encoding'] ?? '';
    if (encoding === 'binary/null') return toJson(metadata);
    const type = metadata['type'];
    const plain = { encoding: 'json/plain', ...(type === undefined ? {} : { type }) };
    // No workflow of ours writes this: it was dropped as garbage, and stays garbage.
    if (encoding !== 'json/plain') return toJson(plain, JSON.stringify('redacted'));
    return toJson(plain, JSON.stringify(redactValue(parsed(data), this.#names)));
  }

  async #decoded({ metadata, data = '' }: JsonPayload) {
    const raw = Object.fromEntries(Object.entries(metadata).map(([key, text]) => [key, Buffer.from(text, 'base64')]));
    const [payload] = await this.#decode([{ metadata: raw, data: Buffer.from(data, 'base64') }]);
    const texts = Object.entries(payload?.metadata ?? {}).map(([key, bytes]) => [key, Buffer.from(bytes).toString()]);
    return {
      metadata: Object.fromEntries(texts) as Readonly<Record<string, string>>,
      data: Buffer.from(payload?.data ?? []).toString(),
    };
  }

  /** Message and stack are in a payload if an installation encrypts. */
  async #plainFailure(failure: object): Promise<object> {
    const { encodedAttributes, ...rest } = failure as { readonly encodedAttributes?: unknown };
    if (typeof encodedAttributes !== 'object' || encodedAttributes === null || !isPayload(encodedAttributes))
      return rest;
    const { data } = await this.#decoded(encodedAttributes);
    const { message } = (parsed(data) ?? {}) as { readonly message?: unknown };
    return { ...rest, message: typeof message === 'string' ? message : '' };
  }
}

const AS_IT_IS = new Set(['sdkMetadata', 'meteringMetadata', 'workerVersion', 'versioningInfo']);
const DROPPED = new Set(['identity', 'stackTrace', 'namespaceId', 'nexusOperationId']);
const isRunId = (key: string): boolean => /(^r|R)unId$/.test(key);
const NUMBERS = /(^e|E)ventId$|^taskId$|^version$|SizeBytes$|^attempt$|^activityId$|^timerId$|^seq$/;
const TIME = /^(?:\d{4}-\d\d-\d\dT[\d:.]+Z|\d+(?:\.\d+)?s)$/;
const ENUMS = /Type$|^kind$|^initiator$|State$|^state$|Policy$|^cause$|Cause$|Behavior$|Origin$/;

function isPayload(value: object): value is JsonPayload {
  return (
    'metadata' in value && typeof value.metadata === 'object' && value.metadata !== null && 'encoding' in value.metadata
  );
}

/** Ids of changes are words of the code (contract/changes.ts), and a replay follows them. */
function isChangeMarker(marker: object): boolean {
  const { details } = marker as { details?: { 'patch-data'?: { payloads?: readonly { data?: string }[] } } };
  const { payloads } = details?.['patch-data'] ?? {};
  const id = (parsed(Buffer.from(payloads?.[0]?.data ?? '', 'base64').toString()) as { id?: unknown } | undefined)?.id;
  return typeof id === 'string' && Object.hasOwn(CHANGES, id);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

function toJson(metadata: Readonly<Record<string, string>>, data = ''): JsonPayload {
  const encoded = Object.entries(metadata).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return {
    metadata: Object.fromEntries(encoded) as JsonPayload['metadata'],
    data: Buffer.from(data).toString('base64'),
  };
}

import type { Payload } from '@temporalio/common';
import { CHANGES } from '../../contract/changes.js';
import { isOwnSignal } from '../../domain/temporal-server.js';
import { FailureType } from '../../domain/errors.js';
import { formOf, type PayloadForm, SEARCH_ATTRIBUTES } from './forms.js';
import type { Pseudonyms } from './pseudonyms.js';
import { redactValue } from './redact-value.js';

/** Decodes payloads like the installation's payload codec. */
export type DecodePayloads = (payloads: Payload[]) => Promise<Payload[]>;

interface JsonPayload {
  readonly metadata: Readonly<Record<string, string>>;
  readonly data?: string;
}

/** Forms of an event's payloads: of its input, and of its result or failure. */
interface Payloads {
  readonly input: PayloadForm;
  readonly result: PayloadForm;
}
/** The form of a payload, and the field name that decides on its text. */
interface Held {
  readonly form: PayloadForm;
  readonly field?: string;
}

/**
 * Redacts the events of histories in Temporal's JSON: one history after the other, events in order. Payloads are decoded and
 * redacted by their form, and are plain JSON afterwards. Values that a replay compares, or that seed its random numbers, are
 * kept: event numbers, types, times, run ids, markers of changes.
 */
export class EventRedaction {
  readonly #names: Pseudonyms;
  readonly #decode: DecodePayloads;
  /** Activity types of the history, by the number of the event that scheduled them. */
  readonly #activities = new Map<string, string>();

  constructor(names: Pseudonyms, decode: DecodePayloads) {
    this.#names = names;
    this.#decode = decode;
  }

  async redact(event: unknown): Promise<unknown> {
    return this.#value('', event, { held: NOTHING, payloads: this.#payloadsOf(event as HistoryEvent) });
  }

  #payloadsOf(event: HistoryEvent): Payloads {
    const entries = Object.entries(event) as [string, Attributes][];
    const [, its = {}] = entries.find(([key]) => key.endsWith('EventAttributes')) ?? [];
    const { workflowType, signalName, acceptedRequest, activityType, scheduledEventId } = its;
    if (activityType !== undefined) this.#activities.set(String(event.eventId), nameOf(activityType));
    if (workflowType !== undefined) return { input: formOf('workflows', nameOf(workflowType)), result: 'own' };
    if (signalName !== undefined) return { input: this.#signalForm(signalName, event), result: 'own' };
    const update = acceptedRequest?.input?.name;
    if (update !== undefined) return { input: formOf('updates', update), result: 'own' };
    const activity = activityType === undefined ? this.#activities.get(String(scheduledEventId)) : nameOf(activityType);
    const form = activity === undefined ? 'own' : formOf('activities', activity);
    return { input: form, result: form };
  }

  /** The form of a signal's input. A job also sends signals to workflows of users (`notify`); their content is jobctl's own. */
  #signalForm(name: string, event: HistoryEvent): PayloadForm {
    const isOutgoing = 'signalExternalWorkflowExecutionInitiatedEventAttributes' in event;
    const form = formOf('signals', name);
    return form === 'removed' && isOutgoing ? 'own' : form;
  }

  async #value(key: string, value: unknown, at: At): Promise<unknown> {
    if (typeof value === 'string') return this.#text(key, value);
    if (typeof value !== 'object' || value === null) return value;
    if (DROPPED.has(key)) return Array.isArray(value) ? [] : {};
    if (Array.isArray(value)) return Promise.all(value.map((item: unknown) => this.#value(key, item, at)));
    if (AS_IT_IS.has(key)) return value;
    if (isPayload(value)) return this.#payload(value, at.held);
    if ('encodedAttributes' in value) return this.#value(key, await this.#plainFailure(value), at);
    if ('markerName' in value && isChangeMarker(value)) return value;
    const heldBy = heldIn(key);
    const entries = Object.entries(value).map(async ([name, child]) => {
      const part = partName(key, name);
      const held = heldBy?.(name) ?? heldUnder(part, at);
      const isOurs = heldBy === undefined || held.form !== 'removed';
      return [isOurs ? name : this.#names.user(name), await this.#value(part, child, { ...at, held })];
    });
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
    if (SENTENCES.has(key)) return this.#names.said(text);
    return isOwnName(key, text) ? text : this.#names.id(text);
  }

  async #payload(payload: JsonPayload, { form, field }: Held): Promise<JsonPayload> {
    const { metadata, data } = await this.#decoded(payload);
    const encoding = metadata['encoding'] ?? '';
    if (encoding === 'binary/null') return toJson(metadata);
    const type = metadata['type'];
    const plain = { encoding: 'json/plain', ...(type === undefined ? {} : { type }) };
    // No workflow of ours writes this: it was dropped as garbage, and stays garbage.
    if (encoding !== 'json/plain') return toJson(plain, JSON.stringify('redacted'));
    return toJson(plain, JSON.stringify(redactValue(parsed(data), this.#names, form, field)));
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

  /** The failure with its message in plain text. If an installation encrypts payloads, message and stack are in a payload. */
  async #plainFailure(failure: object): Promise<object> {
    const { encodedAttributes, ...rest } = failure as { readonly encodedAttributes?: unknown };
    if (typeof encodedAttributes !== 'object' || encodedAttributes === null || !isPayload(encodedAttributes))
      return rest;
    const { data } = await this.#decoded(encodedAttributes);
    const { message } = (parsed(data) ?? {}) as { readonly message?: unknown };
    return { ...rest, message: typeof message === 'string' ? message : '' };
  }
}

interface At {
  readonly held: Held;
  readonly payloads: Payloads;
}

const NOTHING: Held = { form: 'removed' };

interface HistoryEvent {
  readonly eventId?: string;
}
interface Attributes {
  readonly workflowType?: { readonly name?: string };
  readonly activityType?: { readonly name?: string };
  readonly signalName?: string;
  readonly scheduledEventId?: string;
  readonly acceptedRequest?: { readonly input?: { readonly name?: string } };
}
const nameOf = ({ name = '' }: { readonly name?: string }): string => name;

/** The name of a part. The parent's name precedes it if the part's own name is ambiguous. */
const partName = (parent: string, name: string): string =>
  PARENTS.test(parent) && /^(?:name|fields|indexedFields|details|summary)$/.test(name) ? `${parent}.${name}` : name;
const PARENTS =
  /^(?:workflowType|activityType|input|memo|upsertedMemo|searchAttributes|header|userMetadata|markerRecordedEventAttributes)$/;

/** Form of the payloads below a part of an event. */
function heldUnder(part: string, { held, payloads }: At): Held {
  switch (part) {
    case 'input':
    case 'args':
      return { form: payloads.input };
    case 'result':
    case 'success':
    case 'details':
      return { form: payloads.result };
    case 'lastHeartbeatDetails':
      return NOTHING;
    case 'userMetadata.summary':
    case 'userMetadata.details':
      return { form: 'own', field: 'message' };
    default:
      return held;
  }
}

/** Forms of the payloads in a map, by their names. Undefined: the part is not such a map. */
function heldIn(part: string): ((name: string) => Held) | undefined {
  switch (part) {
    case 'memo.fields':
    case 'upsertedMemo.fields':
      return (name) => ({ form: formOf('memo', name), field: name });
    case 'searchAttributes.indexedFields':
      return (name) => {
        const field = SEARCH_ATTRIBUTES[name as keyof typeof SEARCH_ATTRIBUTES] as string | undefined;
        return field === undefined ? { form: 'removed' } : { form: 'own', field };
      };
    case 'header.fields':
    case 'markerRecordedEventAttributes.details':
      return () => ({ form: 'removed' });
    default:
      return undefined;
  }
}

/** Whether a text is a name of jobctl's own code or of the SDK's. */
function isOwnName(part: string, text: string): boolean {
  switch (part) {
    case 'workflowType.name':
      return formOf('workflows', text) !== 'removed';
    case 'activityType.name':
      return formOf('activities', text) !== 'removed';
    case 'input.name':
      return formOf('updates', text) !== 'removed';
    case 'signalName':
      return isOwnSignal(text);
    case 'type':
    case 'nonRetryableErrorTypes':
      return ERRORS.has(text);
    default:
      return part === 'source' && /^(?:Server|\w+SDK)$/.test(text);
  }
}
const ERRORS: ReadonlySet<string> = new Set([
  ...Object.values(FailureType),
  ...['Error', 'TypeError', 'RangeError', 'ReferenceError', 'SyntaxError'],
]);
const SENTENCES = new Set(['message', 'reason']);
const AS_IT_IS = new Set(['sdkMetadata', 'meteringMetadata', 'workerVersion', 'versioningInfo']);
/** Parts that no replay reads. */
const DROPPED = new Set([
  ...['identity', 'stackTrace', 'namespaceId', 'nexusOperationId', 'completionCallbacks', 'links'],
]);
const isRunId = (key: string): boolean => /(^r|R)unId$/.test(key);
const NUMBERS = /(^e|E)ventId$|^taskId$|^version$|SizeBytes$|^attempt$|^activityId$|^timerId$|^seq$/;
const TIME = /^(?:\d{4}-\d\d-\d\dT[\d:.]+Z|\d+(?:\.\d+)?s)$/;
const ENUMS = /Type$|^kind$|^initiator$|State$|^state$|Policy$|^cause$|Cause$|Behavior$|Origin$/;

function isPayload(value: object): value is JsonPayload {
  return (
    'metadata' in value && typeof value.metadata === 'object' && value.metadata !== null && 'encoding' in value.metadata
  );
}

/** Whether a marker is of a change of jobctl: the change's id is in contract/changes.ts, and a replay follows it. */
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

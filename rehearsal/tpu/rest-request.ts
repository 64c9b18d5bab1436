import protobuf from 'protobufjs';
import type { JsonObject, JsonValue } from '../json.js';
import { isJsonType, isObject } from '../json.js';
import type { FieldViolation } from './api-error.js';
import { apiErrors } from './api-error.js';
import type { HttpRule } from './http-rules.js';
import { readJsonBody } from './json-body.js';
import { conform, fieldOf, protoName } from './message-json.js';
import { protoRoot } from './protos.js';

/** Parameters of every Google API (cloud.google.com/apis/docs/system-parameters), each with or without `$`. */
const SYSTEM_PARAMETERS: ReadonlySet<string> = new Set(
  'alt fields key prettyPrint quotaUser userIp access_token oauth_token callback uploadType upload_protocol trace .xgafv xgafv httpMethod apiVersion userProject'.split(
    ' ',
  ),
);

/** Parameters of newer protos that gcloud 528 knows and the client's own protos lack. They are accepted and ignored. */
function isNewer(method: string, name: string): boolean {
  if (name === 'extraLocationTypes') return method === 'ListLocations';
  return name === 'requestId' && /^(Create|Delete)(Node|QueuedResource)$/.test(method);
}

type MutableJson = Record<string, JsonValue | undefined>;

export interface HttpCall {
  readonly query: URLSearchParams;
  readonly contentType: string;
  readonly body: string;
}

/**
 * The request message of a call, by its rule, in canonical JSON: google.api.http's transcoding. Fields that the protos lack are
 * kept in the body (Google's tools are newer than the protos) and refused in the query, as Google does.
 * @param values of the rule's fields in the path, as they came
 * @throws ApiError
 */
export function readRequest(rule: HttpRule, values: readonly string[], call: HttpCall): JsonObject {
  const violations: FieldViolation[] = [];
  const request: MutableJson = { ...body(rule, call) };
  for (const [name, text] of parameters(rule, call)) bindParameter(rule, request, name, text, violations);
  if (violations.length > 0) throw apiErrors.malformed(violations);
  rule.fields.forEach((field, index) => setAt(request, field.split('.'), decodeSegment(values[index] ?? '')));
  const conformed = conform(protoRoot(), rule.request, request, { unknown: 'keep', enums: 'names' });
  if (conformed.violations.length > 0) throw apiErrors.malformed(conformed.violations);
  return conformed.json;
}

function body({ body: field }: HttpRule, { body: text, contentType }: HttpCall): JsonObject {
  if (field === '' || text.trim() === '' || isForm(contentType)) return {};
  if (!isJsonType(contentType)) throw apiErrors.notJson(contentType);
  const json = readJsonBody(text);
  return field === '*' ? json : { [field]: json };
}

function isForm(contentType: string): boolean {
  return contentType.startsWith('application/x-www-form-urlencoded');
}

/** A form's fields are parameters too: the body of `curl -d` without a content type is read as a form, and refused. */
function parameters(
  { body: field }: HttpRule,
  { query, body: text, contentType }: HttpCall,
): readonly (readonly [string, string])[] {
  const form = field !== '' && isForm(contentType) ? [...new URLSearchParams(text)] : [];
  return [...query, ...form].filter(([name]) => !SYSTEM_PARAMETERS.has(name.replace(/^\$/, '')));
}

function bindParameter(
  { method, request: type }: HttpRule,
  request: MutableJson,
  name: string,
  text: string,
  violations: FieldViolation[],
): void {
  const path = name.split('.');
  const field = fieldAt(type, path);
  if (field === undefined && isNewer(method, name)) return;
  if (
    field === undefined ||
    (field.resolvedType instanceof protobuf.Type && !/FieldMask|Timestamp|Duration/.test(field.type))
  ) {
    const [first = ''] = path;
    const description = `Invalid JSON payload received. Unknown name "${name}": Cannot bind query parameter. Field '${first}' could not be found in request message.`;
    violations.push({ field: '', description });
    return;
  }
  // Python's clients write True.
  const value = field.type === 'bool' ? text.toLowerCase() : text;
  const isNumbered = field.resolvedType instanceof protobuf.Enum && /^\d+$/.test(value);
  if (field.repeated) setAt(request, path, [...listAt(request, path), value]);
  else setAt(request, path, isNumbered ? Number(value) : value);
}

function fieldAt(type: protobuf.Type, path: readonly string[]): protobuf.Field | undefined {
  const [name = '', ...rest] = path;
  const field = fieldOf(type, name)?.resolve();
  if (field === undefined || rest.length === 0) return field;
  return field.resolvedType instanceof protobuf.Type ? fieldAt(field.resolvedType, rest) : undefined;
}

function listAt(request: JsonObject, path: readonly string[]): readonly JsonValue[] {
  const found = path.reduce<JsonValue | undefined>((at, name) => (isObject(at) ? at[name] : undefined), request);
  return Array.isArray(found) ? (found as readonly JsonValue[]) : [];
}

function setAt(request: MutableJson, [name = '', ...rest]: readonly string[], value: JsonValue): void {
  if (rest.length === 0) {
    // The path's value replaces one in the body, in either spelling.
    delete request[protoName(name)];
    request[name] = value;
    return;
  }
  const within = request[name];
  const inner: MutableJson = isObject(within) ? { ...within } : {};
  setAt(inner, rest, value);
  request[name] = inner;
}

/** A `%` that begins no escape stays: ids may contain it. */
function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

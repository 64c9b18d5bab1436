import { readCreateFlag } from '../../domain/machine-kinds/cloud-tpu/create-flags.js';
import { DISK_MODES } from '../../domain/machine-kinds/cloud-tpu/words.js';
import { isOwnWord, MAPS, NAMES, TEXT_KINDS } from './fields.js';
import { JOB_FILE, JOB_INPUT, type JsonForm, type PayloadForm } from './forms.js';
import type { Pseudonyms } from './pseudonyms.js';

/**
 * The place of a value. `forms`: the alternatives of its form; undefined for values that only jobctl's own code writes. `whole`:
 * the value has no form: `user` masks each word, `secret` removes all.
 */
interface At {
  readonly field: string;
  readonly forms?: readonly JsonForm[];
  readonly whole?: 'user' | 'secret';
  /** The keys of the value are the user's. */
  readonly isMap?: boolean;
}

/** Redacts a plain JSON value of workflows and records. @param field the name of the field that holds it */
export function redactValue(value: unknown, names: Pseudonyms, form: PayloadForm = 'own', field = ''): unknown {
  if (form === 'removed') return redact(value, { field, whole: 'secret' }, names);
  return redact(value, form === 'own' ? { field } : { field, forms: alternatives(form) }, names);
}

function redact(value: unknown, at: At, names: Pseudonyms): unknown {
  if (typeof value === 'string') return redactText(value, at, names);
  if (typeof value === 'number') return at.whole === 'secret' ? 0 : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const item = itemOf(at);
    return value.map((each: unknown) => redact(each, item, names));
  }
  if (at.field === 'set' && isAssignment(value)) return redactAssignment(value, names);
  const entries = Object.entries(value).map(([key, inner]) => {
    const child = childOf(at, key, inner);
    return [child.isOurs ? key : redactKey(key, at, names), redact(inner, child.at, names)];
  });
  return Object.fromEntries(entries) as unknown;
}

interface Child {
  readonly at: At;
  /** The key is the form's or jobctl's own, not the user's. */
  readonly isOurs: boolean;
}

function childOf(at: At, key: string, value?: unknown): Child {
  const { field, forms, whole, isMap } = at;
  if (whole !== undefined) return { at: { field: '', whole }, isOurs: false };
  if (isMap === true) {
    const kind = MAPS[field as keyof typeof MAPS];
    return { at: kind === 'secret' ? { field: '', whole: 'secret' } : { field }, isOurs: false };
  }
  if (forms === undefined) return { at: ownChild(key, value), isOurs: OWN_KEY.test(key) };
  const known = forms.flatMap(({ properties }) =>
    properties !== undefined && Object.hasOwn(properties, key) ? [properties[key] as JsonForm] : [],
  );
  if (known.length > 0) return { at: formChild(key, known.flatMap(alternatives)), isOurs: true };
  const inMap = forms.flatMap(({ additionalProperties: each }) => (typeof each === 'object' ? alternatives(each) : []));
  if (inMap.length === 0) return { at: { field: '', whole: 'user' }, isOurs: false };
  const isSecret = MAPS[field as keyof typeof MAPS] === 'secret';
  return { at: isSecret ? { field: '', whole: 'secret' } : { field, forms: inMap }, isOurs: false };
}

/** The place of a value by its form. If the form allows anything, the field's name decides. */
function formChild(field: string, forms: readonly JsonForm[]): At {
  if (forms.some((form) => Object.keys(form).some((key) => key !== 'description'))) return { field, forms };
  if (field === 'job') return { field, forms: JOB_FILE };
  return field === 'carry' ? { field } : { field, whole: 'user' };
}

function ownChild(field: string, value: unknown): At {
  if (field === 'input') return { field, forms: JOB_INPUT };
  if (field === 'job' && typeof value === 'object' && value !== null && !('run' in value && 'id' in value))
    return { field, forms: JOB_FILE };
  if (field === 'value') return { field, whole: 'user' };
  return { field, ...(Object.hasOwn(MAPS, field) && !Array.isArray(value) && { isMap: true }) };
}

const itemOf = (at: At): At =>
  at.forms === undefined
    ? at
    : { ...at, forms: at.forms.flatMap(({ items }) => (items === undefined ? [] : alternatives(items))) };

function alternatives(form: JsonForm): readonly JsonForm[] {
  const { anyOf, oneOf } = form;
  return anyOf === undefined && oneOf === undefined
    ? [form]
    : [...(anyOf ?? []), ...(oneOf ?? [])].flatMap(alternatives);
}

/** A key of jobctl's types has this form. Keys of maps are the user's. */
const OWN_KEY = /^[a-z]\w*$/;
const isName = (field: string, text: string): boolean => NAMES[field]?.has(text) ?? false;

function redactKey(key: string, { field }: At, names: Pseudonyms): string {
  if (isName(field, key)) return key;
  return TEXT_KINDS[field] === 'public' ? names.publicName(key) : names.user(key);
}

function redactText(text: string, at: At, names: Pseudonyms): string {
  const { field, forms, whole } = at;
  if (whole === 'secret') return names.secret(text);
  if (whole === undefined) {
    if (DURATION.test(text)) return text;
    if (isName(field, text)) return text;
    if (forms?.some((form) => form.const === text || form.enum?.includes(text) === true)) return text;
    // A user may have the name `user`.
    if (forms === undefined && isOwnWord(field, text) && !(field === 'by' && names.isUsers(text))) return text;
  }
  const kind = whole === undefined ? TEXT_KINDS[field] : undefined;
  switch (kind === 'source' && !DISK.test(text) ? 'secret' : kind) {
    case 'secret':
      // `run` is also the run of a job's workflow.
      return names.isRunId(text) || text === '' ? text : names.secret(text);
    case 'said':
      return names.said(text);
    case 'public':
      return inReferences(text, (part) => names.publicName(part), names);
    case 'id':
      return names.id(text);
    case 'flag':
      return redactFlag(text, names);
    case 'source':
    case undefined:
      return text.includes('\n') ? names.secret(text) : inReferences(text, (part) => names.user(part), names);
  }
}

/** Redacts a flag of gcloud. A flag that stands for keys of the job file keeps its name and syntax: it is parsed again. */
function redactFlag(text: string, names: Pseudonyms): string {
  const [name = '', value] = text.trim().split(/[= ](.*)/s);
  if (readCreateFlag(name, value ?? '') === undefined) return names.user(text);
  if (value === undefined || name === '--provisioning-model') return text;
  const isPublic = /^--(?:version|runtime-version|accelerator-type|type|scopes)$/.test(name);
  const shown = value
    .split(/([,=])/)
    .map((part) => (FLAG_KEYS.has(part) ? part : isPublic ? names.publicName(part) : names.user(part)));
  return `${name}=${shown.join('')}`;
}
const FLAG_KEYS: ReadonlySet<string> = new Set(['source', 'mode', ...DISK_MODES]);

const DISK = /^[\w./-]+$/;
const DURATION = /^\d{1,6}(?:\.\d{1,3})?[smh]$/;

/** Redacts a text with references, `${..}`. A reference is resolved again, so its path is redacted like that of its value. */
function inReferences(text: string, redactPart: (part: string) => string, names: Pseudonyms): string {
  const parts = text.split(REFERENCE).map((part, index) => {
    if (index % 2 === 0) return part === '' ? part : redactPart(part);
    const { path } = redactPath(part.split('.'), names);
    return `\${${path.join('.')}}`;
  });
  return parts.join('');
}

const REFERENCE = /\$\{([\w.]+)\}/;

// `--set KEY=VALUE` -----------------------------------------------------------------------------------------------------

interface Assignment {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

const isAssignment = (value: object): value is Assignment =>
  'path' in value && 'value' in value && Array.isArray(value.path);

/** Redacts an assignment's value like the value at the same place of a job file. */
function redactAssignment({ path, value }: Assignment, names: Pseudonyms): Assignment {
  const redacted = redactPath(path, names);
  return { path: redacted.path, value: redact(value, redacted.at, names) };
}

function redactPath(path: readonly (string | number)[], names: Pseudonyms) {
  let at: At = { field: '', forms: JOB_FILE };
  const redacted = path.map((key) => {
    const isIndex = typeof key === 'number' || /^\d+$/.test(key);
    const { at: next, isOurs } = isIndex ? { at: itemOf(at), isOurs: true } : childOf(at, key);
    const shown = isOurs || isIndex ? key : redactKey(key, at, names);
    at = next;
    return shown;
  });
  return { path: redacted, at };
}

import type { JsonValue } from '../json.js';

/** A scalar in canonical proto3 JSON, or `invalid` for its type. `why` is set if Google's parser says more than that. */
export type ReadScalar =
  | { readonly kind: 'value'; readonly value: JsonValue }
  | { readonly kind: 'invalid'; readonly why?: string };

const INVALID: ReadScalar = { kind: 'invalid' };

/** @param type a proto scalar type, or the full name of a message that JSON writes as text. */
export function readScalar(type: string, value: JsonValue): ReadScalar {
  switch (type) {
    case 'bool':
      return readBoolean(value);
    case 'string':
    case 'bytes':
      return typeof value === 'string' ? { kind: 'value', value } : INVALID;
    case '.google.protobuf.Timestamp':
      return readTimestamp(value);
    case '.google.protobuf.Duration':
      return readDuration(value);
    case '.google.protobuf.FieldMask':
      return typeof value === 'string' ? { kind: 'value', value: camelCase(value) } : INVALID;
    case 'double':
    case 'float':
      return typeof value === 'number' ? { kind: 'value', value } : INVALID;
    default:
      return readInteger(type, value);
  }
}

function readBoolean(value: JsonValue): ReadScalar {
  const text = String(value);
  if (typeof value !== 'boolean' && text !== 'true' && text !== 'false') return INVALID;
  return { kind: 'value', value: text === 'true' };
}

/** 64-bit integers become text, because JavaScript's numbers cannot hold them; 32-bit ones become numbers. */
function readInteger(type: string, value: JsonValue): ReadScalar {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  if (!/^-?\d+$/.test(text)) return INVALID;
  const number = BigInt(text);
  const bits = type.endsWith('64') ? 64 : 32;
  const isUnsigned = type.startsWith('u') || type.startsWith('fixed');
  const fits = (isUnsigned ? BigInt.asUintN(bits, number) : BigInt.asIntN(bits, number)) === number;
  if (!fits) return INVALID;
  return { kind: 'value', value: bits === 64 ? text : Number(text) };
}

function readTimestamp(value: JsonValue): ReadScalar {
  const isZoned = typeof value === 'string' && /(Z|[+-]\d\d:\d\d)$/.test(value);
  const why = "Illegal timestamp format; timestamps must end with 'Z' or have a valid timezone offset.";
  if (!isZoned || Number.isNaN(Date.parse(value))) return { kind: 'invalid', why };
  return { kind: 'value', value };
}

function readDuration(value: JsonValue): ReadScalar {
  if (typeof value === 'string' && /^-?\d+(\.\d{1,9})?s$/.test(value)) return { kind: 'value', value };
  return { kind: 'invalid', why: "Illegal duration format; duration must end with 's'" };
}

/** Converts a field mask's paths to JSON's spelling. */
function camelCase(mask: string): string {
  return mask.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Hashes without a crypto module, so that workflow code can make them: cyrb53 (bryc, public domain), 53 bits. They protect
 * against accident, not against an adversary: no security may rest on them.
 */
function hash53(text: string, seed: number): number {
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}

const hex53 = (text: string, seed: number): string => hash53(text, seed).toString(16).padStart(14, '0');

/** Eight hex digits, for names. */
export function shortHash(text: string): string {
  return hex53(text, 0).slice(-8);
}

/** 28 hex digits (106 bits) for a plain JSON value. The order of keys does not matter; an `undefined` key is absent. */
export function contentHash(json: unknown): string {
  const text = canonicalJson(json);
  return hex53(text, 0) + hex53(text, 1);
}

/**
 * JSON with sorted keys: equal values give equal text.
 * @throws RangeError for a value that JSON cannot hold (a bigint, a function, NaN).
 */
export function canonicalJson(json: unknown): string {
  if (json === null || typeof json === 'string' || typeof json === 'boolean') return JSON.stringify(json);
  if (typeof json === 'number' && Number.isFinite(json)) return JSON.stringify(json);
  if (Array.isArray(json)) return `[${json.map((item: unknown) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof json === 'object') {
    const entries = Object.entries(json).filter(([, value]) => value !== undefined);
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${canonicalJson(value)}`).join(',')}}`;
  }
  throw new RangeError(`content hash: ${String(json)} (${typeof json}) is no JSON value`);
}

import type { JsonObject, JsonValue } from '../json.js';
import { isObject } from '../json.js';
import { ApiError } from './api-error.js';

/** Wanted fields by name; for each, the wanted fields inside it, or `all`. */
interface Selection {
  readonly [name: string]: Selection | 'all';
}

/**
 * The part of an answer that `fields` names: `a,b/c,d(e,f)`, `*` for any (docs.cloud.google.com/apis/docs/system-parameters).
 * @param fields empty: the whole answer
 * @throws ApiError
 */
export function selectFields(json: JsonObject, fields: string): JsonObject {
  return fields === '' ? json : select(json, new FieldsParser(fields).parse());
}

function select(json: JsonObject, selection: Selection): JsonObject {
  const entries = Object.entries(json).flatMap(([name, value]) => {
    const wanted = selection[name] ?? selection['*'];
    return wanted === undefined || value === undefined
      ? []
      : [[name, wanted === 'all' ? value : inside(value, wanted)]];
  });
  return Object.fromEntries(entries) as JsonObject;
}

function inside(value: JsonValue, selection: Selection): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => inside(item, selection));
  return isObject(value) ? select(value, selection) : value;
}

class FieldsParser {
  readonly #fields: string;
  readonly #rest: string[];

  constructor(fields: string) {
    this.#fields = fields;
    this.#rest = fields.match(/[\w*]+|./g) ?? [];
  }

  parse(): Selection {
    const selection = this.#list();
    return this.#rest.length === 0 ? selection : this.#refuse();
  }

  #list(): Selection {
    const found: Record<string, Selection | 'all'> = {};
    do found[this.#name()] = this.#inside();
    while (this.#takes(','));
    return found;
  }

  #inside(): Selection | 'all' {
    if (this.#takes('/')) return { [this.#name()]: this.#inside() };
    if (!this.#takes('(')) return 'all';
    const list = this.#list();
    return this.#takes(')') ? list : this.#refuse();
  }

  #name(): string {
    const name = this.#rest.shift() ?? '';
    return /^[\w*]+$/.test(name) ? name : this.#refuse();
  }

  #takes(token: string): boolean {
    const isNext = this.#rest[0] === token;
    if (isNext) this.#rest.shift();
    return isNext;
  }

  #refuse(): never {
    throw new ApiError('INVALID_ARGUMENT', `Invalid field selection ${this.#fields}`);
  }
}

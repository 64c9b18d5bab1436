import type { JsonObject, JsonValue } from '../json.js';
import { isObject } from '../json.js';
import { ApiError } from '../tpu/api-error.js';

type Matches = (resource: JsonObject) => boolean;

/** `labels.a="b"`, `status != RUNNING`, `name eq "a.*"`; in brackets or not. */
const TERM = /^\(?\s*([\w.-]+)\s*(=|!=|\seq\s|\sne\s)\s*("[^"]*"|[^\s()"]+)\s*\)?$/;

/**
 * A `filter` of Compute Engine's lists: comparisons of one field each, joined by AND, or by brackets alone. `eq` and `ne` compare
 * with a regular expression. Any other filter is refused: ignoring it would silently return a wrong list.
 */
export function filterOf(filter: string): Matches {
  const text = filter.trim();
  if (text === '') return () => true;
  const terms = text.split(/\s+AND\s+|(?<=\))\s*(?=\()/).map(termOf);
  return (resource) => terms.every((matches) => matches(resource));
}

function termOf(text: string): Matches {
  const [, field = '', operator = '', quoted = ''] = TERM.exec(text.trim()) ?? [];
  if (field === '') throw new ApiError('UNIMPLEMENTED', `the rehearsal cloud does not know the filter '${text}'`);
  const value = quoted.replace(/^"|"$/g, '');
  const word = operator.trim();
  const isSame = (found: string): boolean =>
    word === 'eq' || word === 'ne' ? new RegExp(`^(?:${value})$`).test(found) : found === value;
  const isNot = word === '!=' || word === 'ne';
  return (resource) => isSame(valueAt(resource, field)) !== isNot;
}

function valueAt(resource: JsonObject, field: string): string {
  let value: JsonValue | undefined = resource;
  for (const key of field.split('.')) value = isObject(value) ? value[key] : undefined;
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}

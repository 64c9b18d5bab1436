import type { JsonObject } from '../json.js';
import { isObject } from '../json.js';
import { apiErrors } from './api-error.js';

/** Parses a request's body. Text that is not a JSON object is refused with the text of Google's parser and the position. */
export function readJsonBody(text: string): JsonObject {
  const parsed = parse(text);
  if (isObject(parsed)) return parsed;
  throw refused('Root element must be a message.');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (/end of JSON/.test(String(error)))
      throw refused('Unexpected end of string. Expected a value.', text, text.length);
    // V8 reports the position of most faults; the others are at the beginning, or near it.
    throw refused('Unexpected token.', text, Number(/at position (\d+)/.exec(String(error))?.[1] ?? 0));
  }
}

/** Google shows the line up to 20 characters around the position, and a caret below it. */
function refused(what: string, text?: string, position = 0): Error {
  const said = `Invalid JSON payload received. ${what}`;
  if (text === undefined) return apiErrors.malformed([{ description: said }]);
  const lineStart = text.lastIndexOf('\n', position - 1) + 1;
  const start = Math.max(lineStart, position - 20);
  const [line = ''] = text.slice(start, position + 20).split('\n');
  return apiErrors.malformed([{ description: `${said}\n${line}\n${' '.repeat(position - start)}^` }]);
}

import { storeErrors } from './store-error.js';

/**
 * Converts a `matchGlob` of objects.list (cloud.google.com/storage/docs/json_api/v1/objects/list, "List objects and prefixes
 * using glob", 2026-11). `*` and `?` stop at a slash, and `**` does not. `[a-z]`, `[!a-z]` and `{a,b}` are known too. Throws
 * StoreError 400 for a pattern that does not close its brackets.
 */
export function globExpression(glob: string): RegExp {
  let source = '';
  let depth = 0;
  for (let at = 0; at < glob.length;) {
    const [token = ''] = /^(?:\*\*\/?|\[[!^]?\]?[^\]]*\]|\\.|.)/su.exec(glob.slice(at)) ?? [];
    at += token.length;
    if (token === '{') depth += 1;
    if (token === '}') depth -= 1;
    if (depth < 0 || token === '[') throw storeErrors.invalid(`Invalid glob pattern: ${glob}`);
    source += token === ',' && depth > 0 ? '|' : expressionOf(token);
  }
  if (depth > 0) throw storeErrors.invalid(`Invalid glob pattern: ${glob}`);
  try {
    return new RegExp(`^(?:${source})$`, 'su');
  } catch {
    throw storeErrors.invalid(`Invalid glob pattern: ${glob}`);
  }
}

function expressionOf(token: string): string {
  switch (token) {
    case '**/':
      // It also matches no folder at all.
      return '(?:.*/)?';
    case '**':
      return '.*';
    case '*':
      return '[^/]*';
    case '?':
      return '[^/]';
    case '{':
      return '(?:';
    case '}':
      return ')';
    default:
      return token.startsWith('[') ? classOf(token) : escaped(token.startsWith('\\') ? token.slice(1) : token);
  }
}

function classOf(token: string): string {
  const isNegated = /^\[[!^]/.test(token);
  const members = token.slice(isNegated ? 2 : 1, -1).replaceAll(/[\\\]^[&~]/gu, String.raw`\$&`);
  return `[${isNegated ? '^/' : ''}${members}]`;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`);
}

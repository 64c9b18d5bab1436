/** The longest prefix of a glob without special characters. */
export const literalPrefix = (glob: string): string => /^[^*?[{\\]*/.exec(glob)?.[0] ?? '';

/**
 * Returns a test of names by a glob of Cloud Storage: `*` and `?` stop at a slash, `**` does not, `{a,b}` is either, without
 * nested braces.
 * @throws RangeError for a glob with `[` or `\`, which no caller has, or with an unclosed brace
 */
export function globTest(glob: string): (name: string) => boolean {
  const parts = glob.match(/\*\*|\*|\?|\{[^{}]*\}|[^*?{}[\]\\]+|[\s\S]/g) ?? [];
  const pattern = new RegExp(`^${parts.map(patternOf).join('')}$`, 'su');
  return (name) => pattern.test(name);
}

function patternOf(part: string): string {
  if (part === '**') return '.*';
  if (part === '*') return '[^/]*';
  if (part === '?') return '[^/]';
  if (/^[[\]{}\\]$/.test(part)) throw new RangeError(`glob: '${part}' is not understood here`);
  if (!part.startsWith('{')) return literal(part);
  return `(?:${part.slice(1, -1).split(',').map(literal).join('|')})`;
}

const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

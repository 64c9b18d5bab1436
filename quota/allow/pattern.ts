/**
 * Returns whether `value` matches a pattern of `[allow]`: literal text in which `*` stands for any characters but `/`, and `**`
 * for any characters. It is not a regular expression: in `trainer@my-project.iam.gserviceaccount.com` every dot would match
 * another character (docs/adr/0075). The time is at most the product of both lengths, whatever the pattern.
 */
export function matchesPattern(pattern: string, value: string): boolean {
  let ends: ReadonlySet<number> = new Set([0]);
  for (const token of pattern.split(/(\*\*|\*)/)) ends = endsAfter(token, value, ends);
  return ends.has(value.length);
}

/** Positions at which a match of `token` may end that begins at one of `starts`. */
function endsAfter(token: string, value: string, starts: ReadonlySet<number>): ReadonlySet<number> {
  const ends = new Set<number>();
  let isInside = false;
  for (let at = 0; at <= value.length; at++) {
    if (token !== '*' && token !== '**') {
      if (starts.has(at) && value.startsWith(token, at)) ends.add(at + token.length);
      continue;
    }
    if (token === '*' && value[at - 1] === '/') isInside = false;
    isInside ||= starts.has(at);
    if (isInside) ends.add(at);
  }
  return ends;
}

/** Most letters by which a mistyped word may differ from a key. */
const MOST_LETTERS = 2;

/**
 * The known key that a mistyped one was likely meant to be: at most two letters were added, left out, changed or swapped;
 * or the only key that begins with it. Case and `-` are ignored. Undefined if no key is that close.
 */
export function nearestKey(typed: string, known: readonly string[]): string | undefined {
  const word = plain(typed);
  const byDistance = known
    .map((key) => ({ key, letters: differingLetters(word, plain(key)) }))
    .filter(({ key, letters }) => letters <= Math.min(MOST_LETTERS, Math.max(word.length, key.length) - 1))
    .toSorted((a, b) => a.letters - b.letters);
  if (byDistance[0] !== undefined) return byDistance[0].key;
  const longer = word.length < 3 ? [] : known.filter((key) => plain(key).startsWith(word));
  return longer.length === 1 ? longer[0] : undefined;
}

/**
 * The edit distance; a swap of neighbours is one edit. Recursive: keys are short, and distances above the limit are all alike.
 */
function differingLetters(a: string, b: string, budget = MOST_LETTERS): number {
  if (a === b) return 0;
  if (budget === 0) return 1;
  const [x = '', y = ''] = [a[0], b[0]];
  if (x === y) return differingLetters(a.slice(1), b.slice(1), budget);
  const isSwap = a.length > 1 && b.length > 1 && a[1] === y && b[1] === x;
  const rest = [
    ...(a === '' ? [] : [[a.slice(1), b] as const]),
    ...(b === '' ? [] : [[a, b.slice(1)] as const]),
    ...(a === '' || b === '' ? [] : [[a.slice(1), b.slice(1)] as const]),
    ...(isSwap ? [[a.slice(2), b.slice(2)] as const] : []),
  ];
  return 1 + Math.min(...rest.map(([c, d]) => differingLetters(c, d, budget - 1)));
}

const plain = (word: string): string => word.toLowerCase().replaceAll('-', '');

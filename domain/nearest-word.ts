/**
 * Edit distance with swaps of neighbours (Damerau-Levenshtein, optimal string alignment): the number of letters added, left
 * out, changed or swapped.
 */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1));
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwap) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Infinity;

/**
 * Limit of compared words' length; `MOST_KNOWN` is that of their number. The time grows with both lengths and with the number.
 */
const MOST_CHARACTERS = 60;
const MOST_KNOWN = 200;

/**
 * The known word that `word` probably means, ignoring case, `-`/`_` and `-y`/`-ies`: the nearest in which at most a third of the
 * letters differ, or two if that is more. Otherwise it is the only word that starts with `word`. Undefined: there is none.
 */
export function nearestWord(word: string, known: Iterable<string>): string | undefined {
  if (word.length > MOST_CHARACTERS) return undefined;
  const wanted = plain(word);
  const words: string[] = [];
  for (const each of known) {
    if (words.length === MOST_KNOWN) break;
    if (each.length <= MOST_CHARACTERS) words.push(each);
  }
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of words) {
    if (Math.abs(candidate.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(wanted, plain(candidate));
    if (distance < bestDistance && distance < Math.max(wanted.length, candidate.length)) {
      best = candidate;
      bestDistance = distance;
    }
  }
  if (best !== undefined || wanted.length < 3) return best;
  const longer = words.filter((candidate) => plain(candidate).startsWith(wanted));
  return longer.length === 1 ? longer[0] : undefined;
}

/** `retries` is near to `retry`. */
const plain = (word: string): string => word.toLowerCase().replaceAll('_', '-').replace(/ies$/, 'y');

/**
 * Characters that a terminal obeys, or that hide or turn around what a reader sees: control characters (C0 and C1), marks and
 * overrides of direction, text without width, Unicode's tags, half surrogates. Not the joiners, which emoji and scripts need.
 */
const HIDDEN =
  /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Surrogate}]/gu;

/**
 * Text from elsewhere as it may be shown: every hidden character as `\u001b`, as JSON writes it, so that a JSON text stays the same
 * value. The only function for it (docs/adr/0075, F13).
 */
export const visibleText = (text: string): string => text.replace(HIDDEN, escaped);

/** The same of text of several lines, whose line ends and tabs stay. */
export const visibleLines = (text: string): string =>
  text.replace(HIDDEN, (character) => (character === '\n' || character === '\t' ? character : escaped(character)));

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => hex(character.charCodeAt(at))).join('');

const hex = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;

/** One line of another's words, as it may be kept and shown: hidden characters escaped, and no more than so many characters. */
export const boundedLine = (text: string, most: number): string =>
  visibleText(text.slice(0, most).replaceAll(/\s+/g, ' ').trim())
    .slice(0, most)
    // A cut may leave half a character, which no message of ours may hold.
    .replace(/[\ud800-\udbff]$/, '');

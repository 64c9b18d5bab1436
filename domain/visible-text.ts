/**
 * Characters that a terminal obeys, or that hide or reverse visible text: control characters (C0 and C1), marks and overrides of
 * direction, text without width, Unicode's tags, half surrogates. Joiners are left out: emoji and scripts need them.
 */
const HIDDEN =
  /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Surrogate}]/gu;

/**
 * Text from outside in a form that may be shown: every hidden character as `\u001b`, as in JSON, so that a JSON text keeps its
 * value. No other function does this (docs/adr/0075, F13).
 */
export const visibleText = (text: string): string => text.replace(HIDDEN, escaped);

/** The same for text of several lines, whose line ends and tabs stay. */
export const visibleLines = (text: string): string =>
  text.replace(HIDDEN, (character) => (character === '\n' || character === '\t' ? character : escaped(character)));

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => hex(character.charCodeAt(at))).join('');

const hex = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;

/** One line of text from outside that may be kept and shown: hidden characters escaped, at most `most` characters. */
export const boundedLine = (text: string, most: number): string =>
  visibleText(text.slice(0, most).replaceAll(/\s+/g, ' ').trim())
    .slice(0, most)
    // A cut may leave half a character, which no message of ours may hold.
    .replace(/[\ud800-\udbff]$/, '');

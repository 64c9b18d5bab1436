/** A run of characters with the same look. */
export interface Span {
  readonly text: string;
  /** Name of a colour of {@link COLOURS}, or undefined for the ordinary one. */
  readonly colour?: keyof typeof COLOURS;
  readonly bold?: true;
  readonly dim?: true;
}

export const COLOURS = {
  red: '#e06c75',
  green: '#98c379',
  yellow: '#e5c07b',
  blue: '#61afef',
  magenta: '#c678dd',
  cyan: '#56b6c2',
  grey: '#7f848e',
} as const;

const BY_CODE: readonly (keyof typeof COLOURS)[] = ['grey', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan'];

/** Parses a line of `tmux capture-pane -e`. SGR codes (ECMA-48 8.3.117) give colour, bold and dim; other codes are ignored. */
export function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let look: Omit<Span, 'text'> = {};
  // oxlint-disable-next-line no-control-regex -- SGR codes begin with ESC
  for (const [index, part] of line.split(/\u001b\[([\d;]*)m/u).entries()) {
    if (index % 2 === 1) look = part.split(';').reduce(lookAfter, look);
    else if (part !== '') spans.push({ text: part, ...look });
  }
  return spans;
}

function lookAfter(look: Omit<Span, 'text'>, code: string): Omit<Span, 'text'> {
  const number = Number(code);
  const { colour: _colour, ...uncoloured } = look;
  if (number === 0) return {};
  if (number === 1) return { ...look, bold: true };
  if (number === 2) return { ...look, dim: true };
  if (number === 22) return look.colour === undefined ? {} : { colour: look.colour };
  if (number === 39) return uncoloured;
  const colour = BY_CODE[number % 10];
  return colour !== undefined && [3, 9].includes(Math.floor(number / 10)) ? { ...look, colour } : look;
}

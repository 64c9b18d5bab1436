/** What somebody may write where jobctl prints a name or a message, and a piece of it that must be seen then. */
export const HOSTILE: Readonly<Record<string, { readonly text: string; readonly seen: string }>> = {
  'the clipboard (OSC 52)': { text: 'a\u001b]52;c;cm0gLXJm\u0007b', seen: String.raw`a\u001b]52;c;cm0gLXJm\u0007b` },
  "the terminal's title": { text: 'a\u001b]0;pwned\u001b\\b', seen: String.raw`a\u001b]0;pwned\u001b` },
  'a cleared screen': { text: 'a\u001b[2J\u001b[Hb', seen: String.raw`a\u001b[2J\u001b[Hb` },
  "jobctl's own colour": { text: 'a\u001b[31mred\u001b[0mb', seen: String.raw`a\u001b[31mred\u001b[0mb` },
  'C1, which is CSI in one character': { text: 'a\u009b31mb', seen: String.raw`a\u009b31mb` },
  'text turned around (bidi)': { text: 'a\u202egpj.exe\u2066b', seen: String.raw`a\u202egpj.exe\u2066b` },
  'a line overwritten': { text: 'a\b\b\b\rsafe', seen: 'safe' },
  'text that nobody sees': { text: 'a\u200b\u{e0041}\ufeffb', seen: String.raw`a\u200b\udb40\udc41\ufeffb` },
  'a false second line': { text: 'a\njob-2  succeeded', seen: 'a' },
};

/** What reaches no terminal, but line ends and tabs of jobctl's own. */
export const OBEYED =
  /(?![\t\n])[\p{Cc}\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u;

import { readFileSync } from 'node:fs';
import { format, type FormatOptions } from 'oxfmt';

const STYLE = JSON.parse(readFileSync(new URL('../.oxfmtrc.json', import.meta.url), 'utf8')) as FormatOptions;

/** Formats a script's output as `npm run check:format` wants it. @param file its ending tells the language of the text */
export async function formatted(file: string, text: string): Promise<string> {
  const { code, errors } = await format(file, text, STYLE);
  if (errors.length > 0) throw new Error(`${file}: ${errors.map(({ message }) => message).join('; ')}`);
  return code;
}

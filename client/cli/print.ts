import { visibleLines } from '../../domain/visible-text.js';
import { OWN_COLOURS } from './render/look.js';

/**
 * What is printed for people, and as JSON: names and messages come from whoever may start a workflow, so that nothing in them
 * reaches the terminal but text. Colours are jobctl's own. What hosts printed (`logs`, `exec`) does not come here: it is shown
 * byte for byte (docs/cli.md).
 */
export function shown(text: string): string {
  return text
    .split(OWN_COLOURS)
    .map((part, index) => (index % 2 === 0 ? visibleLines(part) : part))
    .join('');
}

export const printOut = (text: string): void => void process.stdout.write(shown(text));
export const printErr = (text: string): void => void process.stderr.write(shown(text));

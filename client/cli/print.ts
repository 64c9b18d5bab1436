import { visibleLines } from '../../domain/visible-text.js';
import { OWN_COLOURS } from './render/look.js';

/**
 * What is printed for people, and as JSON: names and messages come from whoever may start a workflow, so that nothing in them
 * reaches the terminal but text. What hosts printed (`logs`, `exec`) does not come here: it is shown byte for byte (docs/cli.md).
 */
export const printOut = (text: string): void => void process.stdout.write(visibleLines(text));
export const printErr = (text: string): void => void process.stderr.write(visibleLines(text));

/** Of lines that `Look.paint` has painted: jobctl's own colours stay. What comes from outside went through `oneLine` before. */
export function painted(text: string): string {
  return text
    .split(OWN_COLOURS)
    .map((part, index) => (index % 2 === 0 ? visibleLines(part) : part))
    .join('');
}

export const printPainted = (text: string): void => void process.stdout.write(painted(text));

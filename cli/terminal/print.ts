import { visibleLines } from '../../domain/visible-text.js';
import { OWN_COLOURS } from './render/look.js';

/**
 * Prints text for people and JSON. Names and messages come from anybody who may start a workflow, so only plain text reaches the
 * terminal. Output of hosts (`logs`, `exec`) is not printed here but shown byte for byte (docs/cli.md).
 */
export const printOut = (text: string): void => void process.stdout.write(visibleLines(text));
export const printErr = (text: string): void => void process.stderr.write(visibleLines(text));

/** For lines painted by `Look.paint`: keeps jobctl's own colours. Text from outside went through `oneLine` before. */
export function painted(text: string): string {
  return text
    .split(OWN_COLOURS)
    .map((part, index) => (index % 2 === 0 ? visibleLines(part) : part))
    .join('');
}

export const printPainted = (text: string): void => void process.stdout.write(painted(text));

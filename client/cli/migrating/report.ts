import { oneLine, renderTable } from '../render/columns.js';
import type { Told } from './draft.js';

/** What became of each key, for a person; what is lost comes last, where it is seen. */
export function reportLines(told: readonly Told[]): readonly string[] {
  const inOrder = [...told.filter(({ fate }) => fate !== 'lost'), ...told.filter(({ fate }) => fate === 'lost')];
  return renderTable(inOrder.map(({ fate, key, text }) => [`  ${fate}`, key, text]));
}

/** The same as comments of the file, of what is lost or different. */
export function lostComments(told: readonly Told[]): readonly string[] {
  return told
    .filter(({ fate }) => fate === 'lost')
    .map(({ key, text }) => `# Not taken over: ${oneLine(key)}: ${oneLine(text)}`);
}

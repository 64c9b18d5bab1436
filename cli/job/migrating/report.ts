import { oneLine, renderTable } from '../../terminal/render/columns.js';
import type { Told } from './draft.js';

/** Reports the fate of each key for a person. Lost keys come last, where they are seen. */
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

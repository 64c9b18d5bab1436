import { median } from '../start/statistics.js';

/** One line of the table. */
export interface Row {
  readonly what: string;
  readonly figure: string;
  /** The aim, if the issue states one; `isMet` says whether the figure reaches it. */
  readonly aim?: string;
  readonly isMet?: boolean;
  readonly note?: string;
}

export const milliseconds = (ms: number): string => `${ms < 10 ? ms.toFixed(2) : ms.toFixed(1)} ms`;

/** The median as the figure, and the range of the rounds as the note. */
export function figures(ms: readonly number[]): Pick<Row, 'figure' | 'note'> {
  const spread = `${milliseconds(Math.min(...ms))} .. ${milliseconds(Math.max(...ms))} of ${ms.length}`;
  return { figure: milliseconds(median(ms)), note: spread };
}

export function printRow({ what, figure, aim, isMet, note }: Row): void {
  const verdict = aim === undefined ? [] : [`aim ${aim}${isMet === false ? ', MISSED' : ''}`];
  const notes = [...verdict, ...(note === undefined ? [] : [note])].join('; ');
  console.log(`${what.padEnd(54)}${figure.padStart(22)}   ${notes}`.trimEnd());
}

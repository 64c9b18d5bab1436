import { type KeyboardEvent, type ReactNode, useState } from 'react';
import { isTyping } from './keys.js';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** The value by which the column is sorted. Absent: it cannot be sorted. */
  readonly by?: (row: Row) => string | number | boolean;
  readonly isNumber?: boolean;
  /** Hidden on narrow screens. */
  readonly isMinor?: boolean;
}

/** Makes rows selectable: by a box before each, and by the key x. */
export interface Choice<Row> {
  readonly title: string;
  readonly isChosen: (row: Row) => boolean;
  readonly toggle: (row: Row) => void;
  /** Accessible name of a row's box. */
  readonly label: (row: Row) => string;
}

interface TableParts<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Number of rows that are drawn at first. A button draws the others. */
  readonly most?: number;
  readonly nothing: string;
  readonly choice?: Choice<Row>;
}

/**
 * A dense table. A click on a title sorts by the column, and a second click reverses the order. The keys j and k move through
 * the rows.
 */
export function Table<Row>({ caption, columns, rows, keyOf, most = 200, nothing, choice }: TableParts<Row>) {
  const [sort, setSort] = useState<{ readonly title: string; readonly isDown: boolean }>();
  const [limit, setLimit] = useState(most);
  const by = columns.find(({ title }) => title === sort?.title)?.by;
  const ordered = by === undefined ? rows : rows.toSorted((a, b) => compare(by(a), by(b)) * (sort?.isDown ? -1 : 1));
  const turn = (title: string): void =>
    setSort((before) => ({ title, isDown: before?.title === title && !before.isDown }));
  if (rows.length === 0) return <p className="note">{nothing}</p>;
  return (
    <div className="scroll" role="region" aria-label={caption} tabIndex={0} onKeyDown={move}>
      <table>
        <caption className="hidden">{caption}</caption>
        <thead>
          <tr>
            {choice !== undefined && (
              <th scope="col" className="choice">
                <span className="hidden">{choice.title}</span>
              </th>
            )}
            {columns.map(({ title, by: isSorted, isNumber, isMinor }) => (
              <th
                key={title}
                scope="col"
                className={classes(isNumber, isMinor)}
                aria-sort={sort?.title === title ? (sort.isDown ? 'descending' : 'ascending') : undefined}
              >
                {isSorted === undefined ? (
                  title
                ) : (
                  <button type="button" className="title" onClick={() => turn(title)}>
                    {title}
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ordered.slice(0, limit).map((row) => (
            <tr key={keyOf(row)}>
              {choice !== undefined && (
                <td className="choice">
                  <input
                    type="checkbox"
                    aria-label={choice.label(row)}
                    checked={choice.isChosen(row)}
                    onChange={() => choice.toggle(row)}
                  />
                </td>
              )}
              {columns.map(({ title, cell, isNumber, isMinor }) => (
                <td key={title} className={classes(isNumber, isMinor)}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {ordered.length > limit && (
        <button type="button" onClick={() => setLimit(limit * 5)}>
          Show more of {ordered.length.toLocaleString('en')}
        </button>
      )}
    </div>
  );
}

/** j and k focus the first focusable element of the next or previous row. `x` ticks the box of the row. */
function move(event: KeyboardEvent<HTMLElement>): void {
  const { key, target, currentTarget, ctrlKey, metaKey, altKey } = event;
  if (ctrlKey || metaKey || altKey || isTyping(target)) return;
  const rows = [...currentTarget.querySelectorAll('tbody tr')];
  const at = rows.findIndex((row) => row.contains(target as Node));
  if (key === 'x') rows[at]?.querySelector<HTMLElement>('input[type=checkbox]')?.click();
  else if (key === 'j') focusOf(rows[at + 1])?.focus();
  else if (key === 'k') focusOf(rows[at - 1])?.focus();
  else return;
  event.preventDefault();
}

const focusOf = (row: Element | undefined): HTMLElement | null | undefined =>
  row?.querySelector<HTMLElement>('input, a, button');

const classes = (isNumber?: boolean, isMinor?: boolean): string =>
  [isNumber === true ? 'number' : '', isMinor === true ? 'minor' : ''].join(' ').trim();

function compare(a: string | number | boolean, b: string | number | boolean): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}

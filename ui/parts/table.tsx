import { type ReactNode, useState } from 'react';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** What the column is sorted by. Absent: it cannot be. */
  readonly by?: (row: Row) => string | number | boolean;
  readonly isNumber?: boolean;
  /** Gone on narrow screens. */
  readonly isMinor?: boolean;
}

interface TableParts<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Rows that are drawn at first; a button draws the others. */
  readonly most?: number;
  readonly nothing: string;
}

/** A dense table. A click on a title sorts by it, again turns the order. */
export function Table<Row>({ caption, columns, rows, keyOf, most = 200, nothing }: TableParts<Row>) {
  const [sort, setSort] = useState<{ readonly title: string; readonly isDown: boolean }>();
  const [limit, setLimit] = useState(most);
  const by = columns.find(({ title }) => title === sort?.title)?.by;
  const ordered = by === undefined ? rows : rows.toSorted((a, b) => compare(by(a), by(b)) * (sort?.isDown ? -1 : 1));
  const turn = (title: string): void =>
    setSort((before) => ({ title, isDown: before?.title === title && !before.isDown }));
  if (rows.length === 0) return <p className="note">{nothing}</p>;
  return (
    <div className="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption className="hidden">{caption}</caption>
        <thead>
          <tr>
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

const classes = (isNumber?: boolean, isMinor?: boolean): string =>
  [isNumber === true ? 'number' : '', isMinor === true ? 'minor' : ''].join(' ').trim();

function compare(a: string | number | boolean, b: string | number | boolean): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}

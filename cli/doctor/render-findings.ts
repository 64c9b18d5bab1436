import type { Finding } from './finding.js';
import { renderTable } from '../terminal/render/columns.js';

const MARKS: Readonly<Record<Finding['state'], string>> = { ok: 'ok', warning: 'warning', failed: 'FAILED' };

/** Renders one line per finding, its remedy on a line below it, and the count at the end. */
export function renderFindings(findings: readonly Finding[], terminalWidth?: number): readonly string[] {
  const rows = findings.flatMap(({ check, state, what, remedy }, index) => [
    [MARKS[state], check, what],
    // One command may fix several findings: it is printed below the last of them.
    ...(remedy === undefined || remedy === findings[index + 1]?.remedy ? [] : [['', '', `-> ${remedy}`]]),
  ]);
  return [...renderTable(rows, terminalWidth), '', tally(findings)];
}

function tally(findings: readonly Finding[]): string {
  const counts = (Object.keys(MARKS) as Finding['state'][]).map((state) => {
    const count = findings.filter((finding) => finding.state === state).length;
    return `${count} ${state === 'warning' && count !== 1 ? 'warnings' : MARKS[state]}`;
  });
  return counts.join(', ');
}

import type { Decisions, Row, Rows } from './decisions.js';
import { type Facts, FACTS, type Question } from './facts.js';
import { COMMAND_ROWS } from './command-rows.js';
import { HOST_ROWS, SLICE_ROWS } from './machine-rows.js';
import { JOB_ROWS } from './job-rows.js';

/**
 * The one place at which a job decides how it continues. Pure: workflows and activities gather the facts, ask, and then act.
 * @throws TypeError for facts without a row, which the types do not allow
 */
export function decide<Q extends Question>(question: Q, facts: Facts<Q>): Decisions[Q] {
  const [row] = rowsFor(question, facts);
  if (row === undefined) throw new TypeError(`recovery, ${question}: no row for ${JSON.stringify(facts)}`);
  return row.decision;
}

/** Rows whose pattern these facts match: exactly one (test/domain/recovery). */
export function rowsFor<Q extends Question>(question: Q, facts: Facts<Q>): readonly Row<Q>[] {
  const names = Object.keys(FACTS[question]) as (keyof Facts<Q>)[];
  return ROWS[question].filter(({ when }) =>
    names.every((name) => {
      const wanted: unknown = when[name];
      return wanted === undefined || (Array.isArray(wanted) ? wanted.includes(facts[name]) : wanted === facts[name]);
    }),
  );
}

/** All rules. docs/recovery.md is written from them (scripts/write-recovery.ts). */
export const ROWS: Rows = { ...SLICE_ROWS, ...HOST_ROWS, ...COMMAND_ROWS, ...JOB_ROWS };

import type { Checked, Form } from '../contract/form.js';

/**
 * Epochs and sequences are workflow times (workflows/sequence.ts), and the highest that was heard counts. One that no pool has
 * reached yet would be the last word for ever: a single forged signal would make a job deaf to its pool (docs/adr/0075, F10).
 * Clocks of Temporal's servers differ by less.
 */
const MOST_AHEAD_MS = 10 * 60_000;

/**
 * The form of a message whose time is not in the future. A message from the future is malformed: it is dropped, counted and
 * logged (`Inbox`).
 * @param timeOf reads the time of a message of this form, in ms
 */
export function notAhead<T>(form: Form<T>, key: string, timeOf: (value: T) => number): Form<T> {
  const check = (value: unknown): Checked<T> => {
    const checked = form(value);
    if (checked.kind !== 'valid' || timeOf(checked.value) <= Date.now() + MOST_AHEAD_MS) return checked;
    return { kind: 'malformed', reason: `${key}: lies in the future, so no workflow of jobctl's has sent it` };
  };
  return Object.assign(check, { bounds: form.bounds, schema: form.schema });
}

/** The form of a message from one run of a quota workflow, which began at its epoch. */
export const ofThisTime = <T extends { readonly epoch: number }>(form: Form<T>): Form<T> =>
  notAhead(form, 'epoch', ({ epoch }) => epoch);

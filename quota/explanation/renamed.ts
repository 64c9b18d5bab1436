import type { DueTime, Explanation, Holder, Reason } from './explanation.js';

/** Gives ids other names: for people a job is called by its own id, not by that of its lease. */
export type NameOf = (id: string) => string;

const holder =
  (nameOf: NameOf) =>
  (each: Holder): Holder => ({ ...each, id: nameOf(each.id) });

/** The same reason with the jobs in it renamed. */
export function renamedReason(reason: Reason, nameOf: NameOf): Reason {
  switch (reason.code) {
    case 'over-nominal':
    case 'draining':
      return { ...reason, by: reason.by.map(holder(nameOf)) };
    case 'reserved':
      return { ...reason, for: nameOf(reason.for) };
    case 'protected':
    case 'held-back':
      return { ...reason, by: reason.by.map(nameOf) };
    default:
      return reason;
  }
}

/** The same explanation with all jobs in it renamed, its own too. */
export function renamed(why: Explanation, nameOf: NameOf): Explanation {
  const { id, behind, reasons, holders, due } = why;
  return {
    ...why,
    id: nameOf(id),
    ...(behind === undefined ? {} : { behind: nameOf(behind) }),
    reasons: reasons.map((reason) => renamedReason(reason, nameOf)),
    holders: holders.map(holder(nameOf)),
    due: due.map((time): DueTime => (time.of === undefined ? time : { ...time, of: nameOf(time.of) })),
  };
}

/** Behind a name that is its owner's own word (docs/login.md). */
export const UNVERIFIED = '(unverified)';

interface NamedUser {
  readonly user: string;
  /** Absent: not known, so not verified. */
  readonly isVerified?: boolean;
}

/** `alice@example.org`, or `alice (unverified)`. */
export const shownUser = ({ user, isVerified }: NamedUser): string =>
  isVerified === true ? user : `${user} ${UNVERIFIED}`;

/** A column of names, of which those that nobody verified say so: once in the title, where none of them is. */
export function userColumn<Row extends NamedUser>(
  rows: readonly Row[],
): { readonly title: string; readonly cell: (row: Row) => string } {
  const isAnyVerified = rows.some(({ isVerified }) => isVerified === true);
  return isAnyVerified ? { title: 'USER', cell: shownUser } : { title: `USER ${UNVERIFIED}`, cell: ({ user }) => user };
}

/** Suffix of a user name that only the user has stated (docs/login.md). */
export const UNVERIFIED = '(unverified)';

interface NamedUser {
  readonly user: string;
  /** Absent: unknown, so not verified. */
  readonly isVerified?: boolean;
}

/** `alice@example.org`, or `alice (unverified)`. */
export const shownUser = ({ user, isVerified }: NamedUser): string =>
  isVerified === true ? user : `${user} ${UNVERIFIED}`;

/** A column of names that marks unverified ones; only the title does so if none is verified. */
export function userColumn<Row extends NamedUser>(
  rows: readonly Row[],
): { readonly title: string; readonly cell: (row: Row) => string } {
  const isAnyVerified = rows.some(({ isVerified }) => isVerified === true);
  return isAnyVerified ? { title: 'USER', cell: shownUser } : { title: `USER ${UNVERIFIED}`, cell: ({ user }) => user };
}

/** Gets a line for the person who waits. */
export type OnWait = (text: string) => void;

/** A call that takes longer than this is told of. */
const TELL_AFTER_MS = 3_000;

/**
 * Waits for a call that others answer, such as a worker, and tells a person in time what is waited for.
 * @param tell absent: nobody is told
 * @param known what is known to be missing before the call: told at once
 */
export async function toldWait<T>(
  tell: OnWait | undefined,
  call: () => Promise<T>,
  { whom, mostMs, known }: { readonly whom: string; readonly mostMs: number; readonly known?: string | undefined },
): Promise<T> {
  const most = `${mostMs / 1000} s`;
  if (known !== undefined) tell?.(`${known}; waiting ${most} for one that starts now`);
  const late = (): void => tell?.(`no answer ${whom} for ${TELL_AFTER_MS / 1000} s; waiting for ${most} in all`);
  const timer = known === undefined ? setTimeout(late, TELL_AFTER_MS) : undefined;
  try {
    return await call();
  } finally {
    clearTimeout(timer);
  }
}

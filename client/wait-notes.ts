/** Receives a line for the person who waits. */
export type OnWait = (text: string) => void;

/** Called at the start of a wait, with the function that gives it up. @returns a function that stops listening, after the wait */
export type OnInterrupt = (giveUp: () => void) => () => void;

/** The person who waits for a call that another party answers. */
export interface Waiter {
  /** Absent: no messages are shown. */
  readonly onWait?: OnWait | undefined;
  /** Absent: a wait cannot be given up. */
  readonly onInterrupt?: OnInterrupt | undefined;
}

/** A waiter that is told each thing only once: concurrent calls say the same. */
export function toldOnce({ onWait, onInterrupt }: Waiter): Waiter {
  const told = new Set<string>();
  const tell = (text: string): void => {
    if (!told.has(text)) onWait?.(text);
    told.add(text);
  };
  return { onWait: onWait && tell, onInterrupt };
}

/** Time after which the user is told of the wait. */
const TELL_AFTER_MS = 3_000;

/** Waits for a call that another party answers, such as a worker, and tells the person in time what it waits for. */
export async function toldWait<T>(
  { onWait: tell, onInterrupt }: Waiter,
  call: () => Promise<T>,
  { whom, mostMs, known, interrupted }: ToldWait,
): Promise<T> {
  const most = `${mostMs / 1000} s`;
  let ending: Promise<Error> | undefined;
  let unwatch: (() => void) | undefined;
  const givenUp = new Promise<never>((_, reject) => {
    unwatch = onInterrupt?.(() => {
      ending = interrupted();
      reject(new Error('interrupted'));
    });
  });
  if (known !== undefined) tell?.(`${known}; waiting ${most} for one that starts now`);
  const late = (): void => tell?.(`no answer ${whom} for ${TELL_AFTER_MS / 1000} s; waiting for ${most} in all`);
  const timer = known === undefined ? setTimeout(late, TELL_AFTER_MS) : undefined;
  try {
    return await Promise.race([call(), givenUp]);
  } catch (error) {
    throw (await ending) ?? error;
  } finally {
    clearTimeout(timer);
    unwatch?.();
  }
}

interface ToldWait {
  readonly whom: string;
  readonly mostMs: number;
  /** A reason, known before the call, why there may be no answer. The person is told at once. */
  readonly known?: string | undefined;
  /** The error of a wait that is given up. It never rejects. */
  readonly interrupted: () => Promise<Error>;
}

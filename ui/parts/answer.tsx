import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Answer, type Asked, type Call, call, Refused } from '../api.js';
import { exactClock } from '../words.js';
import { useNow } from './clock.js';

interface Rate {
  /** 0: once. Absent: as often as all screens. */
  readonly everyMs?: number;
  readonly isWanted?: boolean;
}

/**
 * The answer of a GET, polled while the screen is open. The last answer stays until the next one arrives, also if the server does
 * not answer. Whoever loses the right to it no longer sees it.
 */
export function useAnswer<C extends Call & `GET ${string}`>(
  of: C,
  asked: Asked<C> = {},
  { everyMs, isWanted = true }: Rate = {},
) {
  const { data, error, dataUpdatedAt } = useQuery<Answer<C>, Error>({
    queryKey: [of, asked.of, asked.query],
    queryFn: ({ signal }) => call(of, { ...asked, signal }),
    enabled: isWanted,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { error } }) => {
      if (error instanceof Refused && FINAL.has(error.code)) return REFUSED_MS;
      return everyMs === 0 ? false : (everyMs ?? LOOK_MS);
    },
  });
  const isRefused = error instanceof Refused && error.code === 'forbidden';
  return { data: isRefused ? undefined : data, error, dataUpdatedAt };
}

/** Polling interval of an open screen. A hidden screen does not poll. */
const LOOK_MS = 3_000;
/** Refusals that seldom change, and are polled less often. */
const FINAL: ReadonlySet<string> = new Set(['not-found', 'forbidden', 'invalid', 'older']);
const REFUSED_MS = 30_000;

interface Asking {
  readonly error: Error | null;
  readonly data: unknown;
  readonly dataUpdatedAt: number;
}

/**
 * The error of a call. It takes the place of the screen if there is no answer yet; otherwise it is a line above the last
 * answer.
 */
export function Problem({ error, data, dataUpdatedAt }: Asking): ReactNode {
  const now = useNow();
  if (error === null) return null;
  const remedy = error instanceof Refused ? error.remedy : undefined;
  return (
    <div role="alert" className="problem">
      <p>{error.message}</p>
      {remedy !== undefined && <p className="note">{remedy}</p>}
      {data !== undefined && <p className="note">Below is what was so at {exactClock(dataUpdatedAt, now)}.</p>}
    </div>
  );
}

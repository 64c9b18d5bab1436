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
 * The answer of a reading call, asked again while the screen is open. The last one stays while the next is asked for, and if the
 * server does not answer; whoever loses the right to it sees it no more.
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

/** How often an open screen asks again. A screen that nobody sees does not. */
const LOOK_MS = 3_000;
/** Refusals that seldom change, and how often they are asked again. */
const FINAL: ReadonlySet<string> = new Set(['not-found', 'forbidden', 'invalid', 'older']);
const REFUSED_MS = 30_000;

interface Asking {
  readonly error: Error | null;
  readonly data: unknown;
  readonly dataUpdatedAt: number;
}

/** What is wrong with an answer: instead of the screen if there is none yet, else a line above what was seen last. */
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

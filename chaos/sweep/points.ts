/** Seconds from the slice's loss of power to the end of the program: docs/chaos.md, "The sweep". */
export const OFFSETS_S: readonly number[] = Array.from({ length: 121 }, (_, index) => index - 60);
export const LAGS_S = [0, 15, 60] as const;
/**
 * Ways to take a slice. `notice`: its guests are told 30 s before, and shut down. `without`: its power is cut, and its
 * connections end. `silent`: its power is cut, and nobody on the network is told.
 */
export const KINDS = ['notice', 'without', 'silent'] as const;
export const SHAPES = [
  { name: 'one host', slices: 1, hosts: 1 },
  { name: 'four hosts', slices: 1, hosts: 4 },
  { name: 'two slices', slices: 2, hosts: 1 },
] as const;
/** At SIGTERM the program saves and exits with 0, dies, exits with 143, or goes on to its end. */
export const ON_TERM = ['saves', 'saves', 'saves', 'dies', 'tells', 'ignores'] as const;

export interface Point {
  /** Time from the slice's loss of power to the end of the program. Negative: the program ends first. */
  readonly offsetS: number;
  readonly lagS: (typeof LAGS_S)[number];
  readonly kind: (typeof KINDS)[number];
  readonly shape: (typeof SHAPES)[number];
}

/** All 121 x 3 x 3 x 3 combinations. */
export const POINTS: readonly Point[] = OFFSETS_S.flatMap((offsetS) =>
  LAGS_S.flatMap((lagS) => KINDS.flatMap((kind) => SHAPES.map((shape): Point => ({ offsetS, lagS, kind, shape })))),
);

const COMBINATIONS = LAGS_S.length * KINDS.length * SHAPES.length;

/** Picks `count` points, spread over the offsets and over the other dimensions at the same time. */
export function spread(count: number): readonly Point[] {
  return Array.from({ length: count }, (_, index) => {
    const offset = count === 1 ? 60 : Math.round((index * (OFFSETS_S.length - 1)) / (count - 1));
    // 10 and 27 have no common divisor: each combination takes its turn.
    const point = POINTS[offset * COMBINATIONS + ((index * 10) % COMBINATIONS)];
    if (point === undefined) throw new RangeError(`sweep: no point ${index} of ${count}`);
    return point;
  });
}

export const pointText = ({ offsetS, lagS, kind, shape }: Point): string =>
  `${shape.name}, ${kind}, the API ${lagS} s late, the program ends ${offsetS < 0 ? `${-offsetS} s before` : `${offsetS} s after`}`;

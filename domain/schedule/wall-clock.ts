import type { EpochMs } from '../units.js';
import { type Cron, isOn } from './cron.js';

// Times of a zone's clock on the wall, which is put forward in spring and back in autumn.

/** Whether this computer knows a time zone. An offset such as `+02:00` is none: it has no summer. */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(zone)) return false;
  try {
    clockOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** A zone's name as the time zone database writes it, in capitals and small letters: a server on Linux takes no other. */
export function nameOfZone(zone: string): string {
  const name = clockOf(zone).resolvedOptions().timeZone;
  return name.toLowerCase() === zone.toLowerCase() ? name : zone;
}

const clockOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });

/** The wall clock of a zone at a time, as if it showed UTC. */
type WallClock = (at: EpochMs) => EpochMs;

export function wallClock(zone: string): WallClock {
  const clock = clockOf(zone);
  return (at) => {
    const parts = new Map(clock.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    return Date.UTC(
      ...([part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')] as const),
    );
  };
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Whether the zone's clock was put back, and has shown the same time before: 01:30 comes twice on a night in autumn. Clocks were
 * put back by a day at most, and by 20 minutes at least, since 1970.
 */
export function isShownAgain(zone: string, at: EpochMs): boolean {
  const wall = wallClock(zone);
  const offset = wall(at) - at;
  const before = wall(at - DAY_MS) - (at - DAY_MS);
  if (before <= offset) return false;
  // The clock showed this time then, if the offset of the day before still held.
  const earlier = at - (before - offset);
  return wall(earlier) === wall(at);
}

/** Shorter than the shortest time between two changes of a clock, that of Morocco in Ramadan. */
const STEP_MS = 14 * DAY_MS;

/** The clock is put forward: it shows no time from `from` (included) to `to`. */
interface Gap {
  readonly from: EpochMs;
  readonly to: EpochMs;
}

/** @param years how many years to look ahead */
function gapsOf(zone: string, since: EpochMs, years: number): readonly Gap[] {
  const wall = wallClock(zone);
  const offsetAt = (at: EpochMs): number => wall(at) - at;
  const gaps: Gap[] = [];
  const begin = Math.floor(since / HOUR_MS) * HOUR_MS;
  let before = offsetAt(begin);
  for (let step = begin; step < begin + years * 366 * DAY_MS; step += STEP_MS) {
    const offset = before;
    const after = (before = offsetAt(step + STEP_MS));
    if (offset >= after) continue;
    let [low, high] = [step, step + STEP_MS];
    while (high - low > 60_000) {
      const middle = Math.floor((low + high) / 2 / 60_000) * 60_000;
      if (offsetAt(middle) === offset) low = middle;
      else high = middle;
    }
    gaps.push({ from: high + offset, to: high + after });
  }
  return gaps;
}

/** Years for which times that a clock does not show are made up for. */
export const YEARS_AHEAD = 10;

/**
 * The times of a cron that the clock of its zone does not show, for some years: 02:30 on a night in spring. Temporal passes over them.
 * Each is made up for as far behind the change as it lies in the hour that is left out, which is as long after the time of the day before
 * as ever.
 * @returns crons with seconds and a year, as Temporal takes them
 */
export function cronsOfGaps(cron: Cron, zone: string, since: EpochMs): readonly string[] {
  if (!cron.isOfWallClock) return [];
  return gapsOf(zone, since, YEARS_AHEAD).flatMap(({ from, to }) => {
    const day = new Date(Math.floor(from / DAY_MS) * DAY_MS);
    if (!isOn(cron, day)) return [];
    const missed = cron.hours
      .flatMap((hour) => cron.minutes.map((minute) => day.getTime() + hour * HOUR_MS + minute * 60_000))
      .filter((time) => time >= from && time < to);
    return missed.map((time) => {
      const later = new Date(time + (to - from));
      const [year, month] = [later.getUTCFullYear(), later.getUTCMonth() + 1];
      return `0 ${later.getUTCMinutes()} ${later.getUTCHours()} ${later.getUTCDate()} ${month} * ${year}`;
    });
  });
}

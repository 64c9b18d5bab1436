import type { EpochMs } from '../../../domain/units.js';

export { sizeText } from '../../../domain/units.js';

/** Formats durations, times and sizes for people. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `8s`, `3m 10s`, `12m`, `3h 05m`, `2d 4h`: at most two units, and no seconds from ten minutes on. A negative duration is `0s`. */
export function formatDuration(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))}s`;
  const minutes = Math.floor(ms / MINUTE);
  if (ms < 10 * MINUTE) return `${minutes}m ${pad(Math.floor((ms % MINUTE) / SECOND))}s`;
  if (ms < HOUR) return `${minutes}m`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h ${pad(minutes % 60)}m`;
  return `${Math.floor(ms / DAY)}d ${Math.floor((ms % DAY) / HOUR)}h`;
}

/** Like `formatDuration`, but with seconds up to one hour. For durations that no longer change. */
export function formatExactDuration(ms: number): string {
  if (ms < 10 * MINUTE || ms >= HOUR) return formatDuration(ms);
  return `${Math.floor(ms / MINUTE)}m ${pad(Math.floor((ms % MINUTE) / SECOND))}s`;
}

const pad = (value: number): string => String(value).padStart(2, '0');

/** `14:32` in this computer's time zone, or `Nov 23 14:32` if `at` is not today. */
export function clockTime(at: EpochMs, now: EpochMs = Date.now()): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.toLocaleDateString('en-US', { month: 'short', day: 'numeric' })} ${time}`;
}

/** `2026-11-23 14:32`, in UTC. */
export const utcMinute = (at: EpochMs): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ');

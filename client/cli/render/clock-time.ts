import type { EpochMs } from '../../../domain/units.js';

/** `14:32` by this computer's clock, on another day `Nov 23 14:32`. */
export function clockTime(at: EpochMs, now: EpochMs = Date.now()): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.toLocaleDateString('en-US', { month: 'short', day: 'numeric' })} ${time}`;
}

/** `2026-11-23 14:32`. */
export const utcMinute = (at: EpochMs): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ');

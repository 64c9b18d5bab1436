const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `8s`, `3m 10s`, `12m`, `3h 05m`, `2d 4h`: two units at most, the second left out from ten minutes on. Never negative. */
export function formatDuration(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))}s`;
  const minutes = Math.floor(ms / MINUTE);
  if (ms < 10 * MINUTE) return `${minutes}m ${pad(Math.floor((ms % MINUTE) / SECOND))}s`;
  if (ms < HOUR) return `${minutes}m`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h ${pad(minutes % 60)}m`;
  return `${Math.floor(ms / DAY)}d ${Math.floor((ms % DAY) / HOUR)}h`;
}

/** As above, to the second below an hour: for what has ended. */
export function formatExactDuration(ms: number): string {
  if (ms < 10 * MINUTE || ms >= HOUR) return formatDuration(ms);
  return `${Math.floor(ms / MINUTE)}m ${pad(Math.floor((ms % MINUTE) / SECOND))}s`;
}

const pad = (value: number): string => String(value).padStart(2, '0');

import { inLargestUnit } from '../../units.js';

/**
 * Reads the longest run of a script: of Slurm `90` (minutes), `90:00`, `1:30:00`, `2-12` (days and hours), `2-12:30`; of LSF `90` and
 * `1:30` (hours and minutes). 0: there is no limit. Undefined: no time.
 */
export function secondsOf(time: string | undefined, tool: string): number | undefined {
  if (time === undefined) return undefined;
  if (/^(infinite|unlimited)$/i.test(time)) return 0;
  if (tool === 'LSF') return ofLsf(time);
  if (!/^(\d+-)?\d+(:\d+){0,3}$/.test(time)) return undefined;
  const [days, clock = ''] = time.includes('-') ? time.split('-') : [undefined, time];
  const parts = clock.split(':').map(Number);
  const [first = 0, second = 0, third = 0, fourth = 0] = parts;
  if (days !== undefined) return ((Number(days) * 24 + first) * 60 + second) * 60 + third;
  if (parts.length === 4) return ((first * 24 + second) * 60 + third) * 60 + fourth;
  return parts.length === 3 ? (first * 60 + second) * 60 + third : first * 60 + second;
}

function ofLsf(time: string): number | undefined {
  const [, hours = '0', minutes = ''] = /^(?:(\d+):)?(\d+)(?:\/\S+)?$/.exec(time) ?? [];
  return minutes === '' ? undefined : (Number(hours) * 60 + Number(minutes)) * 60;
}

export function durationOf(seconds: number): string {
  const { count, unit } = inLargestUnit(seconds);
  return `${count}${unit}`;
}

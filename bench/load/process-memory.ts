import { readFileSync } from 'node:fs';

/** Resident memory, as Linux counts it. */
export interface ProcessMemory {
  readonly bytes: number;
  /** Peak since the process began. */
  readonly peakBytes: number;
}

/** @throws Error if there is no such process. */
export function processMemory(pid: number): ProcessMemory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytesOf = (field: string): number => {
    const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    if (kilobytes === undefined) throw new Error(`/proc/${pid}/status: has no ${field}`);
    return Number(kilobytes) * 1024;
  };
  return { bytes: bytesOf('VmRSS'), peakBytes: bytesOf('VmHWM') };
}

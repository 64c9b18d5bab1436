/** One line of the table. */
export interface Row {
  readonly what: string;
  readonly figure: string;
  /** What it should be, where the issue says so, and whether it is. */
  readonly aim?: string;
  readonly isMet?: boolean;
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
export const milliseconds = (ms: number): string => `${ms.toFixed(0)} ms`;
export const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(0)} MB`;

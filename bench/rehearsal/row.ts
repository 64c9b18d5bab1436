/** One line of the table. */
export interface Row {
  readonly what: string;
  readonly figure: string;
  /** The aim, if the issue states one; `isMet` says whether the figure reaches it. */
  readonly aim?: string;
  readonly isMet?: boolean;
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
export const milliseconds = (ms: number): string => `${ms.toFixed(0)} ms`;
export const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(0)} MB`;

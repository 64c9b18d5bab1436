/** What every way does on every host, and what must come back from each. */
export interface Work {
  /** One shell command each. */
  readonly steps: readonly string[];
  /** All of them, each in a process of its own, up to the first that fails. */
  readonly script: string;
  /** What a host prints. */
  readonly output: string;
}

export function makeWork(count: number): Work {
  const steps = Array.from({ length: count }, (_, step) => `echo step-${step + 1}`);
  return {
    steps,
    script: steps.map((step) => `sh -c '${step}' || exit $?`).join('\n'),
    output: steps.map((_, step) => `step-${step + 1}\n`).join(''),
  };
}

/** @throws Error naming the host, where a byte is missing or too many. */
export function checkOutput(way: string, host: string, got: string, { output }: Work): void {
  if (got !== output)
    throw new Error(`${way}: ${host} printed ${JSON.stringify(got.slice(0, 200))}, not ${JSON.stringify(output)}`);
}

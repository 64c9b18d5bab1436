/** The work that every way does on every host. */
export interface Work {
  /** Shell commands, one per step. */
  readonly steps: readonly string[];
  /** All steps in one script, each in its own process, up to the first that fails. */
  readonly script: string;
  /** Expected output of a host. */
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

/** @throws Error that names the host if its output is not exactly the expected one */
export function checkOutput(way: string, host: string, got: string, { output }: Work): void {
  if (got !== output)
    throw new Error(`${way}: ${host} printed ${JSON.stringify(got.slice(0, 200))}, not ${JSON.stringify(output)}`);
}

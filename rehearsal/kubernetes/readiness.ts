import type { RunningContainer } from '../vm/container.js';
import type { Probe } from './objects.js';

interface Verdict {
  readonly isReady: boolean;
  /** The output of a try that failed. */
  readonly failure?: string;
}

/** The most characters that are kept of a failed try's output. */
const MOST_OUTPUT = 4_096;

/** Exit code of `timeout -s KILL`. */
const TIMED_OUT = 137;

/**
 * Runs a container's readiness probe every `periodSeconds`. Only `exec` is known.
 * @param tell receives each try's verdict: ready after one success, not ready after `failureThreshold` failures in a row
 * @returns a function that ends it
 */
export function probeReadiness(
  container: RunningContainer,
  { exec, initialDelaySeconds = 0, periodSeconds = 10, timeoutSeconds = 1, failureThreshold = 3 }: Probe,
  environment: Readonly<Record<string, string>>,
  tell: (verdict: Verdict) => void,
): () => void {
  const { command = [] } = exec ?? {};
  let [isReady, isEnded, failures] = [false, false, 0];
  const ask = (): void => {
    const child = container.exec(['timeout', '-s', 'KILL', String(timeoutSeconds), ...command], environment);
    let output = '';
    child.stdin?.end();
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (output = `${output}${chunk.toString()}`.slice(0, MOST_OUTPUT)));
    child.once('error', (error) => judge(-1, error.message));
    child.once('close', (code) => judge(code ?? -1, output));
  };
  let timer = setTimeout(ask, initialDelaySeconds * 1000);
  const judge = (code: number, output: string): void => {
    if (isEnded) return;
    failures = code === 0 ? 0 : failures + 1;
    if (code === 0) isReady = true;
    else if (failures >= failureThreshold) isReady = false;
    const words = code === TIMED_OUT ? `command timed out: "${command.join(' ')}" after ${timeoutSeconds}s` : output;
    tell({ isReady, ...(code !== 0 && { failure: words }) });
    timer = setTimeout(ask, periodSeconds * 1000).unref();
  };
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}

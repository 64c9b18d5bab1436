import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestStack } from '../end-to-end/test-stack.js';

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

/** What tells jobctl where a stack is. */
export const environmentOf = ({ server, rehearsal: { endpoints }, store }: TestStack): Record<string, string> => ({
  TEMPORAL_ADDRESS: server.address,
  JOBCTL_BUCKET: store.bucket,
  JOBCTL_STORE_ENDPOINT: endpoints.store,
  JOBCTL_GOOGLE_PROJECT: 'rehearsal',
  JOBCTL_TPU_REST_ENDPOINT: endpoints.rest,
});

/** What `jobctl audit leaks` says of a stack, with no grace for what may still be cleaning up. Rejects where it finds a leak. */
export async function auditLeaks(stack: TestStack): Promise<string> {
  const env = { ...process.env, ...environmentOf(stack) };
  const args = ['--import', 'tsx', MAIN, 'audit', 'leaks', '--grace', '0s'];
  return (await promisify(execFile)(process.execPath, args, { env })).stdout;
}

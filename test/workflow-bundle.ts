import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type Logger } from '@temporalio/worker';
import { INTERCEPTORS, SHARED_MODULES } from '../worker/workflow-code.js';
import { IS_BUILT } from './built.js';

const path = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));

/** Silent unless something is wrong. */
export const QUIET: Logger = {
  ...{ log() {}, trace() {}, debug() {}, info() {} },
  warn: console.warn,
  error: console.error,
};

/**
 * The code of all workflows, as a worker gets it: what the build bundled, if that is of the sources as they are. Bundling takes
 * four seconds of processor time.
 */
export async function workflowBundle(): Promise<{ readonly code: string }> {
  if (IS_BUILT) return { code: readFileSync(path('worker/dist/workflow-bundle.js'), 'utf8') };
  return bundleWorkflowCode({
    workflowsPath: path('workflows/index.ts'),
    logger: QUIET,
    preloadModules: [...SHARED_MODULES],
    workflowInterceptorModules: [...INTERCEPTORS],
  });
}

import { join } from 'node:path';
import { bundleWorkflowCode, type WorkflowBundleOption, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { IS_BUILT } from '../built.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const QUIET = { trace() {}, debug() {}, info() {}, log() {}, warn: console.warn, error: console.error };

/** As a worker loads it: what the build made, if that is of the sources as they are. */
export async function currentBundle(isEncrypting: boolean): Promise<WorkflowBundleOption> {
  if (!IS_BUILT) return bundleOf(ROOT, isEncrypting);
  return { codePath: join(ROOT, 'worker/dist', isEncrypting ? 'workflow-bundle-encrypting.js' : 'workflow-bundle.js') };
}

/** Of the sources below `root`: this checkout, or a copy of it that a test has changed. */
export function bundleOf(root: string, isEncrypting = false): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({
    workflowsPath: join(root, 'workflows/index.ts'),
    preloadModules: ['domain/job-file/resolve.ts', 'contract/job-forms.ts'].map((module) => join(root, module)),
    workflowInterceptorModules: [join(root, 'workflows/flood.ts')],
    payloadConverterPath: join(root, 'workflows/payload-converter.ts'),
    ...(isEncrypting ? { failureConverterPath: join(root, 'workflows/failure-converter.ts') } : {}),
    logger: QUIET,
  });
}

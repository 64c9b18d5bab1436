import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';
import type { AesGcmPayloadCodec } from '../cloud/codec/payload-codec.js';

const built = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));
const IS_SOURCE = import.meta.url.endsWith('.ts');
const module = (name: string): string => built(`${name}.${IS_SOURCE ? 'ts' : 'js'}`);

/**
 * How a worker's payloads travel. Where they are encrypted, messages and stacks of failures are part of them: they become
 * payloads of the failure. Without encryption they stay as they are, for people to read in Temporal's Web UI.
 */
export function dataConverterOf(codec: AesGcmPayloadCodec): NonNullable<WorkerOptions['dataConverter']> {
  const failures = { failureConverterPath: module('workflows/failure-converter') };
  const payloadConverterPath = module('workflows/payload-converter');
  return { payloadCodecs: [codec], payloadConverterPath, ...(codec.isEncrypting ? failures : {}) };
}

/**
 * Loaded once for all workflows of a worker, with all that it imports, instead of once for each: a megabyte and 40 ms apiece
 * otherwise, most of it the schemas of the job file (docs/adr/0012). It must be free of state, as all of
 * domain/ and contract/ is, and export no zod schema: the SDK freezes its exports deeply, and zod writes to a schema's parts.
 */
export const SHARED_MODULES: readonly string[] = [
  'domain/job-file/resolve',
  'contract/job-forms',
  'contract/slice-forms',
].map(module);

/** Of every workflow of ours. */
export const INTERCEPTORS: readonly string[] = [module('workflows/flood')];

/** The bundle that the build made; from source, the workflows themselves. A bundle holds its converters. */
export function workflowCode({
  isEncrypting,
}: AesGcmPayloadCodec):
  | Pick<WorkerOptions, 'workflowBundle'>
  | Pick<WorkerOptions, 'workflowsPath' | 'bundlerOptions' | 'interceptors'> {
  const bundle = built(isEncrypting ? 'workflow-bundle-encrypting.js' : 'workflow-bundle.js');
  if (existsSync(bundle)) return { workflowBundle: { codePath: bundle } };
  return {
    workflowsPath: built('workflows/index.ts'),
    bundlerOptions: { preloadModules: [...SHARED_MODULES] },
    interceptors: { workflowModules: [...INTERCEPTORS] },
  };
}

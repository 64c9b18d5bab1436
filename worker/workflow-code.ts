import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';
import type { AesGcmPayloadCodec } from '../cloud/codec/payload-codec.js';

const built = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));
const IS_SOURCE = import.meta.url.endsWith('.ts');
const module = (name: string): string => built(`${name}.${IS_SOURCE ? 'ts' : 'js'}`);

/**
 * The data converter of a worker's payloads. With encryption, messages and stacks of failures become payloads too. Without it
 * they stay as they are, for people to read in Temporal's Web UI.
 */
export function dataConverterOf(codec: AesGcmPayloadCodec): NonNullable<WorkerOptions['dataConverter']> {
  const failures = { failureConverterPath: module('workflows/failure-converter') };
  const payloadConverterPath = module('workflows/payload-converter');
  return { payloadCodecs: [codec], payloadConverterPath, ...(codec.isEncrypting ? failures : {}) };
}

/**
 * Loaded once for all workflows of a worker, together with everything they import. Loading them for each workflow takes a
 * megabyte and 40 ms each, most of it for the schemas of the job file (docs/adr/0012). These modules must be free of state, as
 * all of domain/ and contract/ is. They must not export a zod schema: the SDK freezes exports deeply, and zod writes to a
 * schema's parts.
 */
export const SHARED_MODULES: readonly string[] = [
  'domain/job-file/resolve',
  'contract/job-forms',
  'contract/slice',
].map(module);

/** A busy computer takes longer than the SDK's 5 s to load the workflows, and a worker would end at its start. */
export const LOADING = { isolateExecutionTimeout: '1m' } as const;

/** The first one sees an activation first. */
export const INTERCEPTORS: readonly string[] = [
  'workflows/early-query',
  'workflows/flood',
  'workflows/current-details',
].map(module);

/** The bundle that the build made or, from source, the workflows themselves. A bundle contains its converters. */
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

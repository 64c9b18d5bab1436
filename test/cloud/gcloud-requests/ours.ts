import {
  createAlphaRequest,
  createNodeRequest,
  createQueuedResourceRequest,
} from '../../../cloud/machines/cloud-tpu/create-request.js';
import { resolveJob } from '../../../domain/job-file/resolve.js';
import { slicePlan } from '../../../domain/machine-kinds/cloud-tpu/plan.js';
import { formatProblems } from '../../../domain/problem.js';
import type { JsonObject } from '../../../rehearsal/json.js';
import { decode, protoRoot } from '../../../rehearsal/tpu/protos.js';
import { tpuJob } from '../../tpu-job.js';
import { type GcloudCase, NAME, PROJECT, RUNTIME, ZONE } from './cases.js';

/** The body that jobctl sends for the job file of a case: what the service decodes of it. */
export function ourBody({ command, tpu, slices }: GcloudCase): JsonObject {
  const file = {
    tpu: { version: RUNTIME, zone: ZONE, allocation_mode: command, ...tpu },
    ...(slices !== undefined && { slices, atomic: true }),
  };
  const job = resolveJob(file);
  if (!job.ok) throw new Error(formatProblems(job.problems));
  const plan = slicePlan(tpuJob(job.spec), {
    ...{
      owner: 'own-1',
      job: 'train-x1',
      run: 'run-1',
      generation: 1,
      loginUser: 'me',
      publicKey: 'ssh-ed25519 AAAA t',
    },
    ...{ googleProject: PROJECT, zone: ZONE, name: NAME, bought: {} },
  });
  const alpha = createAlphaRequest(plan);
  if (alpha !== undefined) return JSON.parse(JSON.stringify(alpha.queuedResource)) as JsonObject;
  return command === 'tpu-vm'
    ? asDecoded('Node', createNodeRequest(plan).node)
    : asDecoded('QueuedResource', createQueuedResourceRequest(plan).queuedResource);
}

function asDecoded(name: string, message: object | null | undefined): JsonObject {
  const type = protoRoot().lookupType(`google.cloud.tpu.v2.${name}`);
  return decode(type, type.encode(type.fromObject(message ?? {})).finish());
}

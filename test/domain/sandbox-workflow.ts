import { contentHash } from '../../domain/content-hash.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { ResolvedJob } from '../../domain/job-file/resolve.js';
import { decide } from '../../quota/decide.js';
import { explainWaiting } from '../../quota/explain.js';
import { UNLIMITED } from '../../quota/quota-config.js';

/** What a workflow does with a job: read by job-file-sandbox.live.test.ts, which bundles it as Temporal does. */
export async function resolveInWorkflow(
  raw: unknown,
): Promise<{ resolved: ResolvedJob; hash: string; grants: number }> {
  const request = { id: 'a', project: 'p', user: 'u', priority: 3, submittedAt: 0, units: { v4: 8 } };
  const { grants } = decide({ config: UNLIMITED, requests: [request], leases: [] }, Date.now());
  explainWaiting({ config: UNLIMITED, requests: [request], leases: [] }, Date.now(), 'a');
  return { resolved: resolveJob(raw), hash: contentHash(raw), grants: grants.length };
}

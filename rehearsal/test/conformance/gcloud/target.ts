import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientEnvironment } from '../../../client-environment.js';
import type { Rehearsal } from '../../../index.js';
import { startRehearsal } from '../../../index.js';
import { scratchFolder, SUBNET_OCTET } from '../../scratch.js';
import { environment, Gcloud } from './gcloud.js';

/**
 * The cloud that gcloud is driven against. JOBCTL_TEST_GCP_PROJECT and JOBCTL_TEST_GCP_ZONE name a real one: the user's own
 * configuration is used, slices are made and paid for. Without them it is a rehearsal of its own.
 */
export interface Target {
  readonly gcloud: Gcloud;
  readonly project: string;
  readonly zone: string;
  /** Of one host, and of several. */
  readonly small: string;
  readonly large: string;
  readonly runtime: string;
  /** For ssh and scp, where the port is not 22. */
  readonly sshFlags: readonly string[];
  readonly scpFlags: readonly string[];
  readonly folder: string;
  /** What the admin interface does; absent at Google. */
  readonly rehearsal?: RehearsalSide;
  stop(): Promise<void>;
}

export interface RehearsalSide {
  readonly endpoints: Rehearsal['endpoints'];
  admin(verb: string, body: object): Promise<void>;
  /** How many calls of a method the cloud saw. */
  calls(method: string): Promise<number>;
}

export function openTarget(): Promise<Target> {
  const project = process.env['JOBCTL_TEST_GCP_PROJECT'];
  return project === undefined ? openRehearsal() : Promise.resolve(openGoogle(project));
}

function openGoogle(project: string): Target {
  const zone = process.env['JOBCTL_TEST_GCP_ZONE'];
  if (zone === undefined) throw new Error('JOBCTL_TEST_GCP_PROJECT is set: JOBCTL_TEST_GCP_ZONE must name a zone');
  const scratch = scratchFolder('gcloud');
  const place = { CLOUDSDK_CORE_PROJECT: project, CLOUDSDK_COMPUTE_ZONE: zone, CLOUDSDK_CORE_DISABLE_PROMPTS: '1' };
  return {
    // Provisioning takes minutes there.
    gcloud: new Gcloud({ ...environment(), ...place }, 1_800_000),
    project,
    zone,
    small: process.env['JOBCTL_TEST_GCP_SMALL'] ?? 'v5litepod-4',
    large: process.env['JOBCTL_TEST_GCP_LARGE'] ?? 'v5litepod-16',
    runtime: process.env['JOBCTL_TEST_GCP_RUNTIME'] ?? 'v2-alpha-tpuv5-lite',
    sshFlags: [],
    scpFlags: [],
    folder: scratch.path,
    stop: () => Promise.resolve(scratch.remove()),
  };
}

async function openRehearsal(): Promise<Target> {
  const scratch = scratchFolder('gcloud');
  const rehearsal = await startRehearsal({ stateDir: join(scratch.path, 'state'), subnetOctet: SUBNET_OCTET });
  const { endpoints } = rehearsal;
  const [project, zone, home] = ['p', 'us-central1-a', join(scratch.path, 'home')];
  mkdirSync(join(home, '.ssh'), { recursive: true });
  const variables = clientEnvironment(endpoints, { project, zone, gcloudConfig: join(home, 'gcloud') });
  const env = { ...environment(), ...variables, HOME: home, CLOUDSDK_CORE_DISABLE_PROMPTS: '1' };
  const port = endpoints.sshPort;
  return {
    gcloud: new Gcloud(env),
    project,
    zone,
    small: 'v5litepod-8',
    large: 'v5litepod-16',
    runtime: 'v2-alpha-tpuv5-lite',
    // gcloud itself knows port 22 alone, which only root may listen on.
    sshFlags: port === 22 ? [] : [`--ssh-flag=-p ${port}`],
    scpFlags: port === 22 ? [] : [`--scp-flag=-P ${port}`],
    folder: scratch.path,
    rehearsal: rehearsalSide(endpoints),
    async stop() {
      await rehearsal.stop();
      scratch.remove();
    },
  };
}

function rehearsalSide(endpoints: Rehearsal['endpoints']): RehearsalSide {
  const own = { authorization: `Bearer ${readFileSync(endpoints.tokenFile, 'utf8')}` };
  return {
    endpoints,
    async admin(verb, body) {
      const headers = { 'content-type': 'application/json', ...own };
      const answer = await fetch(`${endpoints.admin}/admin/${verb}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`/admin/${verb}: HTTP ${answer.status}: ${await answer.text()}`);
    },
    async calls(method) {
      const text = await (await fetch(`${endpoints.admin}/admin/journal`, { headers: own })).text();
      return text.split('\n').filter((line) => line.includes('"api-call"') && line.includes(`"method":"${method}"`))
        .length;
    },
  };
}

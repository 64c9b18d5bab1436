import type { Draws } from '../random.js';
import { GENERATION, ZONES } from './sections.js';
import type { Stage } from './stage.js';
import { SPANS } from './tier.js';

/** Does one kind of deed. Resolves to false if there was nothing to do it to. */
export type DeedDo = (stage: Stage, draws: Draws) => Promise<boolean>;

export const lasting = (stage: Stage, draws: Draws): number =>
  Math.round(draws.between(SPANS.shortestFault, SPANS.longestFault) / stage.tier.factor);
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** Google's refusals, as they were seen (docs/facts.md, "Cloud TPU"); Z stands for the zone. */
const REFUSALS: readonly (readonly [code: string, text: string])[] = [
  [
    'RESOURCE_EXHAUSTED',
    'There is no more capacity in the zone "Z"; you can try in another zone where Cloud TPU Nodes are offered (see https://cloud.google.com/tpu/docs/regions) [EID: 0x1bc8f9d790be9142]',
  ],
  ['RESOURCE_EXHAUSTED', "Quota 'TPUV5sPreemptibleLitepodPerProjectPerZoneForTPUAPI' exhausted. Limit 64 in zone Z"],
  [
    'RESOURCE_EXHAUSTED',
    'Insufficient reserved capacity. Contact customer support to increase your reservation. [EID: 0x2a]',
  ],
  [
    'FAILED_PRECONDITION',
    'Insufficient reserved capacity. Contact customer support to increase your reservation. [EID: 0x2a]',
  ],
  ['INTERNAL', 'an internal error has occurred'],
  [
    'INVALID_ARGUMENT',
    'Cloud TPU received a bad request. The requested accelerator configuration for accelerator type, "v5litepod-4", could not be found in the zonal accelerator configurations for "Z".; the accelerator v5litepod-4 was not found in zone Z [EID: 0x3b]',
  ],
  ['INVALID_ARGUMENT', 'Cloud TPU received a bad request. The requested zone "Z" is not supported. [EID: 0x4c]'],
  [
    'INVALID_ARGUMENT',
    'Cloud TPU received a bad request. update is not supported while in state PREEMPTED [EID: 0x5d]',
  ],
  ['PERMISSION_DENIED', "Permission denied on 'locations/Z' (or it may not exist)."],
  ['ABORTED', 'unable to queue the operation'],
  ['UNAUTHENTICATED', 'Request had invalid authentication credentials. Expected OAuth 2 access token.'],
];

const API = ['Get*', 'List*', 'Create*', 'Delete*'] as const;

async function refuseApi(stage: Stage, code: string, message: string, forMs: number): Promise<void> {
  for (const method of API) await stage.admin.post('refuse', { method, code, message, forMs });
}

/** Changes a setting for a while. */
export async function configured(
  stage: Stage,
  draws: Draws,
  during: object,
  after: object,
  text: string,
): Promise<boolean> {
  const forMs = lasting(stage, draws);
  await stage.admin.post('configure', during);
  stage.endAfter(forMs, () => stage.admin.post('configure', after));
  stage.note('fault', `${text}, for ${seconds(forMs)}`);
  return true;
}

/** Loses the answers of the next calls of one method; the calls take effect. */
export async function answersLost(
  stage: Stage,
  draws: Draws,
  methods: readonly string[],
  message = 'connection reset',
): Promise<boolean> {
  const method = draws.pick(methods);
  const times = draws.between(1, 4);
  await stage.admin.post('refuse', { method, code: 'UNAVAILABLE', message, afterEffect: true, times });
  stage.note('fault', `the answers of the next ${times} ${method} are lost after their effect`);
  return true;
}

/** Faults of the TPU API and of its zones. */
export const CLOUD_DEEDS: Readonly<Record<string, DeedDo>> = {
  'the API is down': async (stage, draws) => {
    const forMs = lasting(stage, draws);
    await refuseApi(stage, 'UNAVAILABLE', 'The service is currently unavailable.', forMs);
    stage.note('fault', `the TPU API is UNAVAILABLE for ${seconds(forMs)}`);
    return true;
  },
  'credentials are expired': async (stage, draws) => {
    const forMs = lasting(stage, draws);
    await refuseApi(stage, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.', forMs);
    stage.note('fault', `every call of the TPU API is UNAUTHENTICATED for ${seconds(forMs)}`);
    return true;
  },
  'the API lies: NOT_FOUND': async (stage, draws) => {
    const method = draws.pick(['GetNode', 'GetQueuedResource']);
    await stage.admin.post('refuse', { method, code: 'NOT_FOUND', message: 'Resource was not found', times: 1 });
    stage.note('fault', `the next ${method} is told NOT_FOUND, whatever is there`);
    return true;
  },
  'the API lies: old lists': async (stage, draws) => {
    const [forMs, lagMs] = [lasting(stage, draws), lasting(stage, draws)];
    await stage.admin.post('list-lag', { lagMs });
    stage.endAfter(forMs, () => stage.admin.post('list-lag', { lagMs: 0 }));
    stage.note('fault', `lists show what was ${seconds(lagMs)} ago, for ${seconds(forMs)}`);
    return true;
  },
  'an answer is lost after its effect': (stage, draws) => answersLost(stage, draws, ['Create*', 'Create*', 'Delete*']),
  'a create is refused': async (stage, draws) => {
    const zone = draws.pick(ZONES);
    const [code, text] = draws.pick(REFUSALS);
    const times = draws.between(1, 4);
    const message = text.replaceAll('Z', zone);
    await stage.admin.post('refuse', { method: 'Create*', code, message, zone, times });
    stage.note('fault', `the next ${times} creates in ${zone} are refused: ${code}: ${message}`);
    return true;
  },
  'a request fails': async (stage, draws) => {
    const { queuedResources } = await stage.admin.status();
    const waiting = queuedResources.filter(({ state }) => /WAITING|PROVISIONING|ACCEPTED/u.test(state));
    if (waiting.length === 0) return false;
    const { name } = draws.pick(waiting);
    const [code, text] = draws.pick(REFUSALS);
    await stage.admin.post('fail-request', { name, code, message: text });
    stage.note('fault', `the queued resource ${name} becomes FAILED: ${code}: ${text}`);
    return true;
  },
  'grants are late': async (stage, draws) => {
    const state = draws.pick(['CREATING', 'WAITING_FOR_RESOURCES', 'PROVISIONING', 'DELETING', 'SUSPENDING']);
    const forMs = lasting(stage, draws);
    await stage.admin.post('hold', { state });
    stage.endAfter(forMs, () => stage.admin.post('release', { state }));
    stage.note('fault', `nothing leaves ${state} for ${seconds(forMs)}`);
    return true;
  },
  'a zone has no capacity': async (stage, draws) => {
    const zone = draws.pick(ZONES);
    const forMs = lasting(stage, draws);
    const place = { zone, generation: GENERATION };
    await stage.admin.post('capacity', { ...place, chips: draws.pick([0, 8]) });
    stage.endAfter(forMs, () => stage.admin.post('capacity', { ...place, chips: null }));
    stage.note('fault', `${zone} has hardly any capacity for ${seconds(forMs)}`);
    return true;
  },
  'endpoints are missing': (stage, draws) =>
    configured(
      stage,
      draws,
      { missingWorkers: [{ workers: [1] }] },
      { missingWorkers: [] },
      'new slices of four hosts lack host 1',
    ),
  'addresses are recycled': (stage, draws) =>
    configured(
      stage,
      draws,
      { recycleAddresses: true },
      { recycleAddresses: false },
      'addresses of gone hosts are given to new ones',
    ),
  'guest attributes are late': (stage, draws) =>
    configured(
      stage,
      draws,
      { guestAttributes: [{ forbidden: true }] },
      { guestAttributes: [] },
      'guest attributes are forbidden',
    ),
};

/** Faults of the cloud that meet jobs of every kind. */
export const STORE_DEEDS: Readonly<Record<string, DeedDo>> = {
  'the API is slow': async (stage, draws) => {
    const { rehearsal } = stage.stack;
    if (!rehearsal.isRunning) return false;
    const forMs = lasting(stage, draws);
    rehearsal.signal('SIGSTOP');
    stage.endAfter(forMs, async () => rehearsal.signal('SIGCONT'));
    stage.note('fault', `cloud, store and SSH stand still for ${seconds(forMs)}`);
    return true;
  },
  'the clock of the cloud jumps': async (stage, draws) => {
    const stepMs = draws.between(60_000, 3_600_000);
    await stage.admin.post('clock', { stepMs });
    stage.note('fault', `the cloud's clock jumps ahead by ${Math.round(stepMs / 60_000)} min`);
    return true;
  },
  'the bucket refuses': async (stage, draws) => {
    const method = draws.pick(['objects.insert', 'objects.list', 'objects.get', 'objects.*']);
    const code = draws.pick(['PERMISSION_DENIED', 'UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'NOT_FOUND', 'INTERNAL']);
    const forMs = lasting(stage, draws);
    await stage.admin.post('refuse', { method, code, forMs });
    stage.note('fault', `the bucket refuses ${method} with ${code} for ${seconds(forMs)}`);
    return true;
  },
};

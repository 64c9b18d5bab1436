import { z } from 'zod';
import { distributedEnvironment } from '../distributed-environment.js';
import type { MachineKind, UsualAccounts } from '../kind.js';
import { ownershipForm } from '../kubernetes/forms.js';
import { ownershipOf } from '../kubernetes/plan.js';
import {
  makerOf,
  machinesType,
  sizeOf,
  type MachinesPlan,
  type MachinesRef,
  type MachinesRequest,
  type MachinesSection,
  machinesText,
  placeOfMachines,
  REHEARSED_PLACE,
} from './words.js';
import { resolveMachines, machinesSection } from './section.js';

const text = z.string();

const refForm: z.ZodType<MachinesRef> = z.object({
  kind: z.literal('machines'),
  pool: text.min(1),
  zone: text.min(1),
  name: text.min(1),
});

const planForm: z.ZodType<MachinesPlan> = z.object({
  ref: refForm,
  ownership: ownershipForm(),
  machines: z.object({
    hosts: z.int().min(1),
    accelerator: z.object({ type: text.min(1), perHost: z.int().min(1) }).exactOptional(),
    labels: z.record(text, text),
    isRehearsed: z.literal(true).exactOptional(),
  }),
});

/** Own machines, by the inventory of a pool file: a slice is some of them, each claimed by a file on it (docs/adr/0070). */
export const machines: MachineKind<MachinesRef, MachinesPlan, MachinesSection, ReturnType<typeof machinesSection>> = {
  provider: "the pool's own machines",
  refForm: () => refForm,
  planForm: () => planForm,
  devices: {
    devices: ['/dev/accel[0-9]*', '/dev/vfio/[0-9]*', '/dev/nvidia[0-9]*', '/dev/kfd'],
    lockFiles: ['/tmp/libtpu_lockfile'],
  },

  metricsName: undefined,
  launchWord: 'machines',
  isRehearsed: (zone) => zone === REHEARSED_PLACE,
  zoneNames: undefined,
  reach: 'ssh',
  areTakenBack: false,
  isBought: false,
  areTakenTogether: false,
  takesPublicKey: false,

  section: {
    name: 'machines',
    least: 'accelerator and count, or nothing ({})',
    form: machinesSection,
    required: [],
    takesAtomic: false,
    allowForm: 'machines',
    flags: {
      tpu: { why: 'own machines are named by what they have', instead: 'such as --set machines.accelerator=h100' },
      zone: { why: 'own machines are where their pool has them', instead: 'such as --set machines.labels.room=b' },
      pricing: { why: 'own machines are not bought', instead: 'leave it out' },
      adopt: { why: 'own machines are in the pool file', instead: 'such as --set machines.labels.name=box-3' },
    },
    resolve: resolveMachines,
  },

  asked: ({ machines: request }) => ({
    accelerator: machinesType(request),
    zones: [placeOfMachines(request.isRehearsed)],
    pricing: 'any',
  }),
  size: (spec) => sizeOf(spec.machines, spec.slices),
  sizeKey: ({ machines: { accelerator } }) => (accelerator === undefined ? 'machines' : 'machines.accelerator'),
  plan: (spec, place) => {
    const { pool, ...asked } = spec.machines;
    return {
      ref: refIn(pool, place.name, asked.isRehearsed),
      ownership: ownershipOf(place, asked),
      machines: asked,
    };
  },
  slices: (ref) => [ref],
  usdPerHour: () => undefined,
  environment: ({ machines: { accelerator } }, slices) =>
    distributedEnvironment(slices, accelerator !== undefined && makerOf(accelerator.type) !== 'TPU'),

  choices: () => [{ key: 'machines', path: ['machines'], value: 'machines' }],
  usualChoices: () => ({ machines: ['machines'] }),
  route: (spec) => spec.machines.pool,
  accountsPrefix: 'system/machine-pools/',
  account,
  accountKey: undefined,
  proxyVariables: () => ({}),
  compared: () => undefined,

  accountText: (account) => `own machines of pool ${account}`,
  resourceText: ({ name }) => `claim ${name}`,
  placeText: ({ pool, zone }) => `${zone === REHEARSED_PLACE ? 'rehearsed' : 'own'} machines of pool ${pool}`,
  requestText: (spec) => machinesText(spec.machines),
  requestFacts: ({ machines: request }) => [
    ['machines', machinesText(request)],
    ...(Object.keys(request.labels).length === 0 ? [] : [['labels', labelsText(request)] as const]),
    ['pool', request.pool],
  ],
  planText: ({ machines: asked }) => machinesText(asked),
  planDetails: ({ ref, machines: asked }) => `${machinesText(asked)}, ${machines.placeText(ref)}`,
  stateHint: ({ pool }) => `jobctl machines ls --pool ${pool}`,
};

export const refIn = (pool: string, name: string, isRehearsed?: true): MachinesRef => ({
  ...{ kind: 'machines', pool, name },
  zone: placeOfMachines(isRehearsed),
});

function account(accounts: UsualAccounts, spec: MachinesSection): string;
function account(accounts: UsualAccounts, spec?: MachinesSection): string | undefined;
/** Only a job names a pool: without one there is nothing to list. */
function account(_: UsualAccounts, spec?: MachinesSection): string | undefined {
  return spec?.machines.pool;
}

const labelsText = ({ labels }: Pick<MachinesRequest, 'labels'>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');

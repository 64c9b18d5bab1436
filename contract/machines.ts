/** The workflow `machines`: what an operator asks of a pool's own machines, carried out by a worker that reaches them. */
import { z } from 'zod';
import { OWN_ID_PREFIXES } from '../domain/own-workflows.js';
import type { EpochMs } from '../domain/units.js';
import { type Form, form } from './form.js';

export const MACHINE_VERBS = ['ls', 'check', 'drain', 'undrain', 'forget', 'release'] as const;
export type MachineVerb = (typeof MACHINE_VERBS)[number];

export interface MachinesInput {
  readonly v: 1;
  readonly pool: string;
  readonly verb: MachineVerb;
  /** Empty: all of the pool, which `ls` and `check` take. */
  readonly names: readonly string[];
  /** Who asks, by the caller's word. */
  readonly by: string;
  readonly reason?: string;
  /** Of `release`: the claim that is removed. */
  readonly claim?: string;
}

/** `silent`: it did not answer. `foreign`: held by a claim that this installation did not make. */
export type MachineState = 'free' | 'held' | 'drained' | 'aside' | 'silent' | 'foreign';

export interface MachineRow {
  readonly name: string;
  /** `10.0.0.11:22` */
  readonly address: string;
  readonly user: string;
  readonly accelerators: Readonly<Record<string, number>>;
  readonly state: MachineState;
  /** That holds it. */
  readonly job?: string;
  readonly slice?: string;
  /** Why it is not used, or what was wrong at its last use; in sentences. */
  readonly problem?: string;
  /** What is odd, and keeps nobody from using it. */
  readonly warning?: string;
  readonly since?: EpochMs;
}

export interface MachinesAnswer {
  /** In the order of the pool file. */
  readonly machines: readonly MachineRow[];
}

export interface MachinesActivities {
  operateMachines(input: MachinesInput): Promise<MachinesAnswer>;
}

/** An operator waits for as long. */
export const MACHINES_TIMEOUT_MS = 90_000;

export const machinesInputForm: Form<MachinesInput> = form(
  z.object({
    v: z.literal(1),
    pool: z.string().min(1),
    verb: z.enum(MACHINE_VERBS),
    names: z.array(z.string().min(1)),
    by: z.string().min(1),
    reason: z.string().exactOptional(),
    claim: z.string().min(1).exactOptional(),
  }),
);

/** Options of the workflow, for who starts it. @param id unique among the pool's */
export const machinesStart = (taskQueue: string, input: MachinesInput, id: string) => ({
  workflowId: `${OWN_ID_PREFIXES.machines}${input.pool}/${id}`,
  taskQueue,
  args: [input] as [MachinesInput],
  workflowExecutionTimeout: MACHINES_TIMEOUT_MS,
  staticSummary: `${input.verb} machines of pool ${input.pool}, by ${input.by}`,
});

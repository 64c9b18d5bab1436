/** The workflow `machines`: an operator's request about a pool's own machines, carried out by a worker that reaches them. */
import { z } from 'zod';
import type { MachineFinding } from '../domain/machine-kinds/machines/findings.js';
import { OWN_ID_PREFIXES } from '../domain/temporal-server.js';
import type { EpochMs } from '../domain/units.js';
import { type Form, form } from './form.js';

export const MACHINE_VERBS = ['ls', 'check', 'examine', 'drain', 'undrain', 'forget', 'release'] as const;
export type MachineVerb = (typeof MACHINE_VERBS)[number];

export interface MachinesInput {
  readonly v: 1;
  readonly pool: string;
  readonly verb: MachineVerb;
  /** Empty: all machines of the pool, which `ls`, `check` and `examine` allow. */
  readonly names: readonly string[];
  /** The operator, by the caller's claim. */
  readonly by: string;
  readonly reason?: string;
  /** For `release`: the claim to remove. */
  readonly claim?: string;
}

/** `silent`: the machine did not answer. `foreign`: held by a claim that this installation did not make. */
export type MachineState = 'free' | 'held' | 'drained' | 'aside' | 'silent' | 'foreign';

export interface MachineRow {
  readonly name: string;
  /** `10.0.0.11:22` */
  readonly address: string;
  readonly user: string;
  readonly accelerators: Readonly<Record<string, number>>;
  readonly state: MachineState;
  /** The job that holds the machine. */
  readonly job?: string;
  readonly slice?: string;
  /** The reason why it is not used, or its problem at the last use, in sentences. */
  readonly problem?: string;
  /** A VM of the local stack's rehearsal. Absent: a real machine. */
  readonly isRehearsed?: true;
  /** An oddity that does not keep the machine from use. */
  readonly warning?: string;
  readonly since?: EpochMs;
  /** The models that its GPUs had when it was last inspected, such as `NVIDIA H100 80GB HBM3`. */
  readonly model?: string;
  /** Processes that were ended when it was last given back, because they ran on after their job, in a sentence. */
  readonly ended?: string;
}

/** The findings of `examine` on one machine. */
export interface ExaminedRow {
  readonly name: string;
  readonly findings: readonly MachineFinding[];
}

export interface MachinesAnswer {
  /** In the order of the pool file. */
  readonly machines: readonly MachineRow[];
  /** The answer of `examine` alone. The slots of a machine are one row. */
  readonly examined?: readonly ExaminedRow[];
}

export interface MachinesActivities {
  operateMachines(input: MachinesInput): Promise<MachinesAnswer>;
}

/** Time for which an operator waits. */
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

/** Options with which a client starts the workflow. @param id unique in the pool @param timeoutMs of the whole request */
export const machinesStart = (
  taskQueue: string,
  input: MachinesInput,
  id: string,
  timeoutMs = MACHINES_TIMEOUT_MS,
) => ({
  workflowId: `${OWN_ID_PREFIXES.machines}${input.pool}/${id}`,
  taskQueue,
  args: [input] as [MachinesInput],
  workflowExecutionTimeout: timeoutMs,
  staticSummary: `${input.verb} machines of pool ${input.pool}, by ${input.by}`,
});

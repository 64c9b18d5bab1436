/**
 * Whose account another try goes on (docs/design.md, "Separate budgets"). Only `task` is the user's fault; `requested` pays for the
 * starts that the command asked for itself (`command.restart_on`).
 */
export type Budget = 'preemption' | 'infrastructure' | 'task' | 'requested';

/** Retries by budget: allowed by the job file (`retries`), or used up. Each 0 or more. */
export type Retries = { readonly [B in Budget]: number };

/** Whether a budget pays for another try: n retries allowed are n tries more, never n + 1. */
export function budgetLeft(used: Retries, allowed: Retries): { readonly [B in Budget]: 'left' | 'spent' } {
  const left = (budget: Budget) => (used[budget] < allowed[budget] ? 'left' : 'spent');
  return {
    preemption: left('preemption'),
    infrastructure: left('infrastructure'),
    task: left('task'),
    requested: left('requested'),
  };
}

/** Of a job that has used none. */
export const NO_RETRIES: Retries = { preemption: 0, infrastructure: 0, task: 0, requested: 0 };

/** Takes one retry from `budget`. */
export const charge = (used: Retries, budget: Budget): Retries => ({ ...used, [budget]: used[budget] + 1 });

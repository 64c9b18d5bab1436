/**
 * The account that another try is charged to (docs/design.md, "Separate budgets"). Only `task` is the user's fault. `requested`
 * pays for starts that the command itself asked for (`command.restart_on`).
 */
export type Budget = 'preemption' | 'infrastructure' | 'task' | 'requested';

/** Retries by budget: allowed by the job file (`retries`), or used. Each 0 or more. */
export type Retries = { readonly [B in Budget]: number };

/** Says which budgets can pay for another try: n retries allowed are n more tries, never n + 1. */
export function budgetLeft(used: Retries, allowed: Retries): { readonly [B in Budget]: 'left' | 'spent' } {
  const left = (budget: Budget) => (used[budget] < allowed[budget] ? 'left' : 'spent');
  return {
    preemption: left('preemption'),
    infrastructure: left('infrastructure'),
    task: left('task'),
    requested: left('requested'),
  };
}

/** For a job that has used no retry. */
export const NO_RETRIES: Retries = { preemption: 0, infrastructure: 0, task: 0, requested: 0 };

/** Takes one retry from `budget`. */
export const charge = (used: Retries, budget: Budget): Retries => ({ ...used, [budget]: used[budget] + 1 });

/** Whose account another try goes on (DESIGN.md 2, "Separate budgets"). Only `task` is the user's fault. */
export type Budget = 'preemption' | 'infrastructure' | 'task';

/** Retries by budget: allowed by the job file (`retries`), or used up. Each 0 or more. */
export type Retries = { readonly [B in Budget]: number };

/** Whether a budget pays for another try: n retries allowed are n tries more, never n + 1. */
export function budgetLeft(used: Retries, allowed: Retries): { readonly [B in Budget]: 'left' | 'spent' } {
  const left = (budget: Budget) => (used[budget] < allowed[budget] ? 'left' : 'spent');
  return { preemption: left('preemption'), infrastructure: left('infrastructure'), task: left('task') };
}

/** Takes one retry from `budget`. */
export const charge = (used: Retries, budget: Budget): Retries => ({ ...used, [budget]: used[budget] + 1 });

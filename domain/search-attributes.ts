/**
 * The search attributes of a job's workflow, all of type Keyword. Rows of a list come from them and the memo alone
 * (DESIGN.md 7). They are never encrypted.
 */
export const JOB_SEARCH_ATTRIBUTES = ['JobProject', 'JobUser', 'JobPhase', 'JobAccelerator', 'JobPool'] as const;
export type JobSearchAttribute = (typeof JOB_SEARCH_ATTRIBUTES)[number];

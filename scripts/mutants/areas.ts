/** Code that mutants judge, and the tests that must kill them. */
export interface Area {
  /** Also the row's name in docs/runs.md. */
  readonly name: string;
  /** Globs of the files that are changed, from the repository's root. */
  readonly mutate: readonly string[];
  /**
   * Globs of fast unit and property tests, without braces: mocha splits its list of files at commas. A mutant runs the tests
   * that reach it, so each may take tens of milliseconds.
   */
  readonly tests: readonly string[];
  /** The run fails below this score, in percent. Raise it with the tests, never lower it. */
  readonly leastScore: number;
}

/** Areas in which a wrong line costs chips or bytes of a log, and whose code can all be reached without a server. */
export const AREAS: readonly Area[] = [
  {
    name: 'quota/decision',
    mutate: ['quota/decision/*.ts'],
    tests: [
      'test/quota/decision/*.test.ts',
      'test/quota/decide*.test.ts',
      'test/quota/project-quota.property.test.ts',
      'test/quota/verdict.test.ts',
      'test/quota/explain.test.ts',
      'test/quota/scenarios/fairness.test.ts',
      'test/quota/scenarios/two-winners.test.ts',
      'test/quota/scenarios/reservations-in-a-row.test.ts',
      'test/quota/scenarios/without-chips.test.ts',
      'test/quota/scenarios/tiers.test.ts',
      'test/quota/tier-*.test.ts',
      'test/quota/gang-bounds.test.ts',
      'test/quota/waiting-line.test.ts',
      'test/quota/properties/tier-change.property.test.ts',
      'test/quota/properties/one-request.property.test.ts',
      'test/quota/properties/order.property.test.ts',
      'test/quota/properties/safety.property.test.ts',
    ],
    leastScore: 85,
  },
  {
    name: 'domain/recovery',
    mutate: ['domain/recovery/*.ts'],
    // Not page.test.ts: docs/recovery.md is written from the code that is changed.
    tests: [
      'test/domain/recovery/rows.test.ts',
      'test/domain/recovery/broken-machine.test.ts',
      'test/domain/recovery/budgets.test.ts',
      'test/domain/recovery/evidence.test.ts',
      'test/domain/recovery/host-ends.test.ts',
      'test/domain/recovery/loop.test.ts',
      'test/domain/recovery/patience.test.ts',
      'test/domain/recovery/signs-of-life.test.ts',
      'test/domain/recovery/slice-loss.test.ts',
      'test/domain/recovery/supervision.test.ts',
      'test/domain/recovery/worker-errors.test.ts',
    ],
    leastScore: 85,
  },
  {
    name: 'workflows/quota: lease book',
    mutate: ['workflows/quota/{lease-book,lease-row,lease-rows,freed-leases,columns,packed-book}.ts'],
    tests: [
      'test/workflows/lease-*.test.ts',
      'test/workflows/columns.test.ts',
      'test/workflows/given-up-slices.test.ts',
      'test/workflows/packed-book.test.ts',
    ],
    leastScore: 85,
  },
  {
    name: 'activities/attempt: log stream',
    mutate: ['activities/attempt/log-stream.ts'],
    // Not log-stream.test.ts, which goes over the wire to a rehearsed store.
    tests: [
      'test/activities/log-stream-cuts.property.test.ts',
      'test/activities/log-stream-end.test.ts',
      'test/activities/log-stream-limit.test.ts',
    ],
    leastScore: 85,
  },
  {
    name: 'cloud/machines/cloud-tpu',
    // What reads and writes Google's words. The calls themselves are tested against a rehearsed cloud.
    mutate: ['cloud/machines/cloud-tpu/{classify-error,condition,create-request,guest-attributes,observation}.ts'],
    tests: [
      'test/cloud/classify-error.test.ts',
      'test/cloud/condition.test.ts',
      'test/cloud/create-request.test.ts',
      'test/cloud/guest-attributes.test.ts',
      'test/cloud/observation.test.ts',
      'test/cloud/owned.test.ts',
      'test/cloud/refusal-scope.test.ts',
    ],
    leastScore: 85,
  },
  {
    name: 'activities/attempt',
    // The code that decides between a host, its slice and the store. The rest calls hosts, and is tested on stacks.
    mutate: [
      'activities/attempt/{attempt-hosts,ends,host-warnings,lost-tail}.ts',
      'activities/attempt/{slice-guard,store-patience,submitted-files,unreachable-hosts}.ts',
    ],
    tests: [
      'test/activities/{attempt-hosts,host-patience,host-warnings}.test.ts',
      'test/activities/{lost-tail,run-end,slice-guard,store-patience}.test.ts',
      'test/activities/{stored-ends,submitted-files,unreachable-hosts}.test.ts',
      'test/domain/hooks.test.ts',
      'test/domain/recovery/broken-machine.test.ts',
    ],
    leastScore: 85,
  },
];

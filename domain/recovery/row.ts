import type { Decisions } from './decisions.js';
import type { Fact, FACTS, Question } from './facts.js';

/** Facts that a row matches. A fact that it does not name may have any value. */
export type When<Q extends Question> = {
  readonly [Name in keyof (typeof FACTS)[Q]]?: Fact<Q, Name> | readonly Fact<Q, Name>[];
};

export interface Row<Q extends Question> {
  readonly name: string;
  readonly when: When<Q>;
  readonly decision: Decisions[Q];
}

export type Rows = { readonly [Q in Question]: readonly Row<Q>[] };

import type { Ended } from '../../../cli/command-line.js';
import type { TestStack } from '../../../end-to-end/test-stack.js';

/** Of either tree: what both have, and what an attacker reaches. */
export type AttackedStack = Pick<
  TestStack,
  'client' | 'owner' | 'rehearsal' | 'server' | 'store' | 'stop' | 'taskQueue' | 'privateKeyFile'
>;

/** One build of jobctl, running, as its attacker finds it. */
export interface Attacked {
  /** Of the tree, with sources and dist/. */
  readonly root: string;
  /** The commit of the findings, whose flags and messages are other ones in places. */
  readonly isOld: boolean;
  readonly pool: string;
  readonly people: Readonly<Record<'alice' | 'mallory' | 'operator', string>>;
  readonly stack: AttackedStack;
  /** That tree's command line as somebody: with a login where the tree has logins, else with the name in USER. */
  cli(who: string, ...args: readonly string[]): Promise<Ended>;
  /** An empty folder. */
  scratch(): string;
}

export interface Result {
  readonly hasSucceeded: boolean;
  /** One sentence, for the table. */
  readonly seen: string;
}

export interface Attack {
  /** As docs/runs.md lists it. */
  readonly finding: string;
  readonly title: string;
  /** Where it is made today: a team that trusts its names, or one behind `jobctl serve`. */
  readonly mode: 'trusted' | 'verified';
  run(attacked: Attacked): Promise<Result>;
}

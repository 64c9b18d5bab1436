import type { AttemptInput } from '../../contract/job-activities.js';
import { runIdOf } from './attempt-hosts.js';

type SetUpOf = Pick<AttemptInput, 'job' | 'attempt'>;

/**
 * The set-ups that this worker has under way, so that one can be ended at once when its slices stay and are needed for something
 * else. A cancel of the activity would come with a heartbeat's answer, most of a minute later.
 */
export class SetUps {
  readonly #underWay = new Map<string, AbortController>();

  /** @param setUp ends soon after its signal is aborted */
  async run<T>(of: SetUpOf, setUp: (asked: AbortSignal) => Promise<T>): Promise<T> {
    const asked = new AbortController();
    const id = runIdOf(of);
    this.#underWay.set(id, asked);
    try {
      return await setUp(asked.signal);
    } finally {
      if (this.#underWay.get(id) === asked) this.#underWay.delete(id);
    }
  }

  /** Does not wait for the end. Does nothing if none is under way. */
  stop(of: SetUpOf): void {
    this.#underWay.get(runIdOf(of))?.abort(new Error('the set-up is not wanted any more'));
  }
}

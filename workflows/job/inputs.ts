import { ActivityFailure, condition, isCancellation } from '@temporalio/workflow';
import type { JobRef } from '../../contract/workflow-ids.js';
import type { Outcome } from '../../domain/job-state.js';
import { inputsReading } from '../activity-options.js';
import type { Attempt } from './attempt.js';
import { reasonOf } from './claimed-worker.js';
import type { JobFile } from './job-file.js';
import type { InputsCarry } from './state.js';
import type { JobStory } from './story.js';

/** Makes the outcome of a job whose inputs are gone. */
interface Ends {
  readonly withoutInputs: (why: string) => Outcome;
}

interface InputsParts {
  readonly job: JobRef;
  readonly file: JobFile;
  readonly story: JobStory;
  readonly attempt: Attempt;
}

/**
 * The stored outputs that the job names as its inputs (docs/adr/0173). They are looked for before each request for chips, since
 * somebody may have deleted them, and chips cost money.
 */
export class JobInputs {
  readonly #parts: InputsParts;
  #found: InputsCarry | undefined;

  constructor(parts: InputsParts, carry?: InputsCarry) {
    this.#parts = parts;
    this.#found = carry;
  }

  /** @param isUnwanted ends a wait for the store */
  async find(ends: Ends, isUnwanted: () => boolean): Promise<'there' | 'unwanted' | Outcome> {
    const { job, file, story, attempt } = this.#parts;
    const { inputs } = file.spec;
    if (inputs === undefined || this.#isFresh) return 'there';
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        const found = await inputsReading('look for its inputs').findInputs({ job, inputs });
        story.trouble({ kind: 'inputs-not-read', facts: { isOver: true } });
        if (found.kind === 'gone') return ends.withoutInputs(found.why);
        this.#found = { at: Date.now(), attempts: attempt.number };
        story.note({ kind: 'inputs-found', facts: { found: found.inputs } });
        return 'there';
      } catch (error) {
        if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
        story.trouble({ kind: 'inputs-not-read', facts: { reason: reasonOf(error) } });
        if (await condition(isUnwanted, pauseMs, { summary: 'before its inputs are looked for again' }))
          return 'unwanted';
      }
    }
  }

  /** Undefined: they were not looked for yet, or there are none. */
  carry(): InputsCarry | undefined {
    return this.#found;
  }

  get #isFresh(): boolean {
    const { at = 0, attempts } = this.#found ?? {};
    return attempts === this.#parts.attempt.number && Date.now() - at < FRESH_MS;
  }
}

/** Time for which a look counts, as long as no attempt begins. */
const FRESH_MS = 10 * 60_000;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

import type { JobClient } from '../../../client/job-client.js';
import type { JobRow } from '../../../client/job-rows.js';
import { noWorkerRemedy, noWorkerText } from '../../terminal/render/job-phrases.js';
import type { Screen } from './screen.js';

const FIRST_MS = 1_500;
const LOOK_MS = 15_000;

/** Reports once when no worker polls the task queue of a watched job, and once when a worker polls again. */
export class WorkerWatch {
  readonly #client: Pick<JobClient, 'unattended'>;
  readonly #screen: Screen;
  #dueAt = Date.now() + FIRST_MS;
  #isLooking = false;
  #isIdle: boolean | undefined;

  /** @param isToldFirst the first state was already reported */
  constructor(client: Pick<JobClient, 'unattended'>, screen: Screen, isToldFirst: boolean) {
    this.#client = client;
    this.#screen = screen;
    if (isToldFirst) this.#dueAt += LOOK_MS;
  }

  /** Returns at once. */
  seen(row: JobRow): void {
    if (this.#isLooking || Date.now() < this.#dueAt) return;
    this.#isLooking = true;
    this.#look(row)
      // A user who may see jobs may lack the right to ask about task queues.
      .catch(() => undefined)
      .finally(() => {
        this.#isLooking = false;
        this.#dueAt = Date.now() + LOOK_MS;
      });
  }

  async #look(row: JobRow): Promise<void> {
    const idle = await this.#client.unattended(row);
    const was = this.#isIdle;
    this.#isIdle = idle !== undefined;
    const { note } = this.#screen.look.symbols;
    if (idle !== undefined && was !== true) {
      this.#say(`${note} ${noWorkerText(idle, Date.now())}`);
      this.#say(`  ${noWorkerRemedy()}`);
    } else if (idle === undefined && was === true) this.#say(`${note} a worker polls the task queue again`);
  }

  #say(text: string): void {
    this.#screen.line({ live: ` ${text}`, plain: text });
  }
}

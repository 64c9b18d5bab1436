import type { AskedJob, Zone } from './availability.js';
import type { Clock, Provider, Request } from './provider.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Time until a create call is refused for lack of chips. */
const REFUSED_MS = 30 * SECOND;
/** Time to delete a lost request, before another request may take its place. */
export const REMOVE_MS = MINUTE;

/** A model of another program, or of an earlier jobctl, from the submit to the end of the month. */
export type Rule = (clock: Clock, provider: Provider, job: AskedJob) => void;

/**
 * SkyPilot's managed jobs with their default, EAGER_NEXT_REGION. A job asks the next region at once and waits in no line. After
 * all regions have refused, it pauses for 60 s, and 1.6 times longer after each further round, up to 300 s
 * (sky/jobs/recovery_strategy.py, sky/utils/common_utils.py `Backoff`, 2025).
 */
export const skyPilot: Rule = (clock, provider, { zones }) => {
  const next = (at: number, refused: number, rounds: number): void => {
    const request = provider.askNow(zones[at % zones.length] as Zone);
    if (request) {
      request.onChange = (state) => {
        // Back from PROVISIONING: SkyPilot's create call has failed.
        if (state === 'waiting') request.remove();
        if (state === 'lost' || state === 'waiting') clock.at(clock.now + REMOVE_MS, () => next(at + 1, 0, 0));
      };
      return;
    }
    const isRound = (refused + 1) % zones.length === 0;
    const pauseMs = isRound ? Math.min(60 * SECOND * 1.6 ** rounds, 300 * SECOND) : 0;
    clock.at(clock.now + REFUSED_MS + pauseMs, () => next(at + 1, refused + 1, rounds + (isRound ? 1 : 0)));
  };
  next(0, 0, 0);
};

/**
 * jobctl of commit 788a7aa with `timeouts.provision`. When that time is over, the job asks the next zone, which costs one of its
 * five infrastructure retries. After a preemption it asks the same zone again. Without the timeout it never leaves its first
 * zone.
 */
export const formerly =
  (provisionMs: number): Rule =>
  (clock, provider, { zones }) => {
    let retries = FORMER_RETRIES;
    const ask = (at: number): void => {
      const request: Request = provider.ask(zones[at % zones.length] as Zone);
      const giveUp = clock.at(clock.now + provisionMs, () => {
        request.onChange = () => undefined;
        request.remove();
        if (retries-- > 0) clock.at(clock.now + REMOVE_MS, () => ask(at + 1));
      });
      request.onChange = (state) => {
        if (state === 'ready') giveUp();
        if (state === 'lost') clock.at(clock.now + REMOVE_MS, () => ask(at));
      };
    };
    ask(0);
  };
const FORMER_RETRIES = 5;

import type { AskedJob, Zone } from './availability.js';
import type { Clock, Provider, Request } from './provider.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Until a create call is refused for want of chips. */
const REFUSED_MS = 30 * SECOND;
/** Until what was lost is deleted, so that another request may have its place. */
export const REMOVE_MS = MINUTE;

/** Rules of other programs, as they are read, not their code. They begin when the job is submitted, and go on until the month ends. */
export type Rule = (clock: Clock, provider: Provider, job: AskedJob) => void;

/**
 * SkyPilot's managed jobs with EAGER_NEXT_REGION, their default: the next region at once, no line; after a round of refusals a pause of
 * 60 s that grows by 1.6 up to 300 (sky/jobs/recovery_strategy.py, sky/utils/common_utils.py `Backoff`, 2025).
 */
export const skyPilot: Rule = (clock, provider, { zones }) => {
  const next = (at: number, refused: number, rounds: number): void => {
    const request = provider.askNow(zones[at % zones.length] as Zone);
    if (request) {
      request.onChange = (state) => {
        // From PROVISIONING: its create has failed.
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
 * jobctl of commit 788a7aa with `timeouts.provision`: the next zone when that is over, at the price of one of its five infrastructure
 * retries; after a preemption the same zone again. Without it the job never leaves the zone that it asks.
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

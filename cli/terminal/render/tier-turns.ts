import type { JobView } from '../../../contract/job.js';
import { askedMachines } from '../../../domain/machines.js';
import type { EpochMs } from '../../../domain/units.js';
import { type OtherTier, tierTurns, type TierTurns } from '../../../quota/explanation/tier-turns.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import { clockTime, formatDuration } from './quantities.js';

/** The turns of a job that waits for chips in one of several tiers. Undefined also while its pool has not published yet where it asks. */
export function turnsOf(view: JobView | undefined, pool: PoolSnapshot | undefined): TierTurns | undefined {
  if (view?.phase !== 'provisioning' || pool === undefined) return undefined;
  const turns = tierTurns(pool, view.id, askedMachines(view.spec).accelerator);
  return turns?.tier === view.granted?.tier ? turns : undefined;
}

/** A sentence for the tier that is asked, and one for each other. */
export function tierSentences(turns: TierTurns | undefined, now: EpochMs): readonly string[] {
  if (turns === undefined) return [];
  const asks = `It asks in ${named(turns)} of the pool, for ${formatDuration(now - turns.since)}.`;
  return [asks, ...turns.others.map((other) => otherText(other, now))];
}

function otherText(other: OtherTier, now: EpochMs): string {
  const name = named(other);
  const subject = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const sooner = other.orOnceRefused ? ', or once each zone has refused' : '';
  const when = `is asked${other.isCooling ? ' again' : ''} from ${clockTime(other.at)} on${sooner}`;
  const said = other.answers.slice(0, MOST_ANSWERS).map(({ zone, at, text }) => {
    return `${zone} said ${formatDuration(now - at)} ago: ${text}`;
  });
  const answers = said.length === 0 ? '' : ` (${said.join('; ')})`;
  return `${subject} ${other.isCooling ? `gave nothing${answers}, and ` : ''}${when}, if this one gives nothing before and it has room then.`;
}

const named = ({ tier, pricing }: Pick<OtherTier, 'tier' | 'pricing'>): string =>
  `tier ${tier + 1}${pricing === undefined ? '' : ` (${pricing})`}`;

const MOST_ANSWERS = 3;

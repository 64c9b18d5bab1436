import type { Change } from '../../contract/changes.js';
import type { HistoryFacts } from './history-facts.js';

/** Changes of which no recorded history of a workflow that they change carries the marker: their new way was never replayed. */
export function markersMissing(
  changes: Readonly<Record<string, Change>>,
  facts: readonly HistoryFacts[],
): readonly string[] {
  return Object.entries(changes).flatMap(([id, { workflows }]) =>
    workflows
      .filter((type) => !facts.some((one) => one.workflowType === type && one.changes.includes(id)))
      .map((type) => `no history of ${type} carries the marker of change '${id}'`),
  );
}

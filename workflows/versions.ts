import { deprecatePatch, patched } from '@temporalio/workflow';
import { CHANGES, type ChangeId } from '../contract/changes.js';

/**
 * Whether this workflow takes the new way of a change (docs/adr/0037). A replay follows its history's marker. Live, the
 * worker asks the installation's switch (`patchActivationCallback`), and writes the marker if it is on. Within one run the
 * answer may change from false to true, at its first live call after a replay; it never changes back.
 * No other file calls Temporal's `patched`.
 */
export function isChanged(id: ChangeId): boolean {
  const change = CHANGES[id];
  if (change?.phase !== 'required') return patched(id);
  deprecatePatch(id);
  return true;
}

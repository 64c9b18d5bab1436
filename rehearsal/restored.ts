import type { Journal } from './journal.js';
import type { JsonObject } from './json.js';
import type { CloudState } from './tpu/state.js';

type Kind = 'node' | 'queued-resource' | 'operation' | 'vm';

const KINDS: Readonly<Record<string, Kind>> = {
  'node-state': 'node',
  'node-change': 'node',
  'queued-resource-state': 'queued-resource',
  'queued-resource-change': 'queued-resource',
  operation: 'operation',
  'vm-state': 'vm',
};

/**
 * Journals the state to which a kill has led back. An event is in the journal at once, and in the state on disk a moment later,
 * so a rehearsal killed in between forgets events that its journal has. No caller had an answer that rests on them. But a reader
 * that rebuilds the state from the journal must learn the present state.
 * @param seq last event that the state on disk includes
 */
export function recordRestored(journal: Journal, state: CloudState, seq: number): void {
  const told = new Map<string, Kind>();
  for (const { kind, subject } of journal.after(seq)) {
    const of = KINDS[kind];
    if (of !== undefined) told.set(subject, of);
  }
  for (const [subject, of] of told) {
    const resource = imageOf(state, of, subject);
    journal.record('restored', subject, { of, ...(resource !== undefined && { resource }) });
  }
}

function imageOf(state: CloudState, of: Kind, name: string): JsonObject | undefined {
  switch (of) {
    case 'node':
      return state.nodes[name]?.resource;
    case 'queued-resource':
      return state.queuedResources[name]?.resource;
    case 'operation':
      return state.operations[name] as JsonObject | undefined;
    case 'vm':
      return state.compute.vms[name]?.resource;
  }
}

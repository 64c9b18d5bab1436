import type { RehearsalClock } from './clock.js';
import type { CloudState } from './tpu/state.js';

/** One thing in the cloud's state; `kind` tells which other fields the line has. */
export interface DumpLine extends Readonly<Record<string, unknown>> {
  readonly kind: 'clock' | 'setting' | 'refusal' | 'hold' | 'list-lag' | 'queued-resource' | 'node' | 'operation';
}

/** Yields Cloud TPU's state at this moment, one object for each thing. It only reads: due events are not carried out. */
export function* dumpOf(state: CloudState, clock: RehearsalClock): Generator<DumpLine> {
  yield {
    kind: 'clock',
    now: clock.now(),
    wall: Date.now(),
    scale: clock.scale,
    frozen: clock.isFrozen,
    seed: state.seed,
  };
  for (const [name, value] of Object.entries(state.settings)) yield { kind: 'setting', name, value };
  for (const refusal of state.refusals) yield { kind: 'refusal', ...refusal };
  for (const hold of state.holds) yield { kind: 'hold', ...hold };
  if (state.listLag !== undefined) yield { kind: 'list-lag', ...state.listLag };
  for (const { resource, ...rest } of Object.values(state.queuedResources)) {
    yield { kind: 'queued-resource', name: resource.name, resource, ...rest };
  }
  for (const { resource, ...rest } of Object.values(state.nodes)) {
    yield { kind: 'node', name: resource.name, resource, ...rest };
  }
  for (const operation of Object.values(state.operations)) yield { kind: 'operation', name: operation.name, operation };
}

import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { exerciseKinds } from './exercise-kinds.js';
import { REHEARSED_KINDS, StackOfAllKinds } from './machine-kinds.js';

const STEP_MS = 60_000;

describe('every kind of machines', () => {
  before(function () {
    needsConfinement(this);
  });
  exerciseKinds(REHEARSED_KINDS, { startMs: TEMPORAL_START_MS + STEP_MS, stepMs: STEP_MS }, () =>
    StackOfAllKinds.start(),
  );
});

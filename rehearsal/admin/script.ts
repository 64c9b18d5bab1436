import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ScriptError } from '../script/read-script.js';
import { ScriptRunner } from '../script/runner.js';
import type { ScriptState } from '../script/state.js';
import { loadSnapshot, Snapshot } from '../snapshot.js';
import type { Timeline } from '../timeline.js';
import { AdminError, parse } from './admin-error.js';
import type { AdminParts } from './parts.js';

export interface ScriptParts extends AdminParts {
  readonly timeline: Timeline;
  readonly stateDir: string;
}

const scriptRequest = z.strictObject({
  /** YAML; README.md, "Fault scripts". */
  text: z.string(),
});

/** `POST`, `GET` and `DELETE /admin/script`. A running script continues after a restart of the rehearsal. */
export async function addScript(app: FastifyInstance, parts: ScriptParts): Promise<void> {
  const file = join(parts.stateDir, 'script.json');
  const runner = new ScriptRunner(parts, loadSnapshot<ScriptState | null>(file) ?? undefined);
  const snapshot = new Snapshot(file, () => runner.state ?? null);
  parts.timeline.join({
    isActive: () => runner.isActive(),
    nextDue: () => runner.nextDue(),
    act() {
      runner.act();
      // Saved after the act: a rehearsal killed in between repeats the turn and skips none.
      snapshot.saveSoon();
    },
  });
  const changed = async (): Promise<object> => {
    await parts.changed();
    await snapshot.save();
    return runner.progress();
  };
  app.get('/admin/script', () => runner.progress());
  app.post('/admin/script', (request) => {
    start(runner, parse(scriptRequest, request.body).text);
    return changed();
  });
  app.delete('/admin/script', () => {
    runner.stop();
    return changed();
  });
  app.addHook('onClose', () => snapshot.save());
  if (runner.isActive()) await parts.changed();
}

function start(runner: ScriptRunner, text: string): void {
  try {
    runner.start(text);
  } catch (error) {
    throw error instanceof ScriptError ? new AdminError(400, error.message) : error;
  }
}

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../json.js';
import { loadSnapshot, Snapshot } from '../snapshot.js';
import type { ProjectFacts } from './facts.js';
import { DEFAULT_PROJECT, projectSchema } from './facts.js';
import { mergePatch } from './merge-patch.js';

/** The facts of the Google project: the defaults, and laid over them what somebody wanted otherwise. Kept on disk. */
export class RehearsedProject {
  readonly #snapshot: Snapshot<JsonObject>;
  #changes: JsonObject;
  #facts: ProjectFacts;

  /** @param folder of the state. Throws ZodError if what is there is not one of these. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'project.json');
    this.#changes = loadSnapshot<JsonObject>(file) ?? {};
    this.#facts = laidOverDefaults(this.#changes);
    this.#snapshot = new Snapshot(file, () => this.#changes);
  }

  get facts(): ProjectFacts {
    return this.#facts;
  }

  /** Lays a merge patch (RFC 7396) over the facts. Throws ZodError, and then nothing is changed. */
  change(patch: JsonObject): Promise<void> {
    // Facts, not changes, are patched: what a patch takes away must not come back with the defaults.
    const next = mergePatch(this.#facts as unknown as JsonValue, patch);
    this.#facts = projectSchema.parse(next);
    this.#changes = this.#facts as unknown as JsonObject;
    return this.#snapshot.save();
  }

  /** Back to the defaults. */
  reset(): Promise<void> {
    this.#changes = {};
    this.#facts = DEFAULT_PROJECT;
    return this.#snapshot.save();
  }
}

function laidOverDefaults(changes: JsonObject): ProjectFacts {
  return projectSchema.parse({ ...DEFAULT_PROJECT, ...changes });
}

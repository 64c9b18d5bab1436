import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import type { JsonObject, JsonValue } from '../json.js';
import { loadSnapshot, Snapshot } from '../snapshot.js';
import type { ProjectFacts } from './facts.js';
import { DEFAULT_PROJECT, projectSchema } from './facts.js';
import { mergePatch } from './merge-patch.js';

/** The facts of the Google project: the defaults with the user's changes. Kept on disk. */
export class RehearsedProject {
  readonly #snapshot: Snapshot<JsonObject>;
  #changes: JsonObject;
  #facts: ProjectFacts;

  /** @param folder state folder. @throws ZodError if the facts stored there are invalid */
  constructor(folder: string) {
    makeFolderSync(folder);
    const file = join(folder, 'project.json');
    this.#changes = loadSnapshot<JsonObject>(file) ?? {};
    this.#facts = laidOverDefaults(this.#changes);
    this.#snapshot = new Snapshot(file, () => this.#changes);
  }

  get facts(): ProjectFacts {
    return this.#facts;
  }

  /** Applies a merge patch (RFC 7396) to the facts. @throws ZodError and changes nothing if the result is invalid */
  change(patch: JsonObject): Promise<void> {
    // Patches the facts, not the changes: what a patch removes must not come back with the defaults.
    const next = mergePatch(this.#facts as unknown as JsonValue, patch);
    this.#facts = projectSchema.parse(next);
    this.#changes = this.#facts as unknown as JsonObject;
    return this.#snapshot.save();
  }

  /** Restores the defaults. */
  reset(): Promise<void> {
    this.#changes = {};
    this.#facts = DEFAULT_PROJECT;
    return this.#snapshot.save();
  }
}

function laidOverDefaults(changes: JsonObject): ProjectFacts {
  return projectSchema.parse({ ...DEFAULT_PROJECT, ...changes });
}

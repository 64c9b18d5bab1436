/** Compute Engine's rule for the names of networks, disks and reservations (cloud.google.com/compute/docs/naming-resources). */
export const RESOURCE_NAME = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The id of a Google Cloud project, with `example.com:` in front if it belongs to a domain. */
export const GOOGLE_PROJECT = /^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/;

/** One collection in a path, or a fixed word such as `global`. */
type Step =
  | 'projects'
  | 'zones'
  | 'regions'
  | 'locations'
  | 'global'
  | 'networks'
  | 'subnetworks'
  | 'disks'
  | 'reservations';

/**
 * Returns the names in a path such as `projects/p/zones/z/disks/d`, by collection, or undefined for a path of another shape.
 * @param steps the collections in order; `global` stands only for that word
 */
export function namesIn<const Steps extends readonly Step[]>(
  path: string,
  steps: Steps,
): Readonly<Record<Exclude<Steps[number], 'global'>, string>> | undefined {
  const words = path.split('/');
  const names: Record<string, string> = {};
  for (const step of steps) {
    if (words.shift() !== step) return undefined;
    if (step === 'global') continue;
    const name = words.shift() ?? '';
    if (!isNameOf(step, name)) return undefined;
    names[step] = name;
  }
  return words.length === 0 ? (names as Record<Exclude<Steps[number], 'global'>, string>) : undefined;
}

/** Also allows a project's number, which Google's own listings show. */
function isNameOf(step: Step, name: string): boolean {
  if (step === 'projects') return GOOGLE_PROJECT.test(name) || /^\d+$/.test(name);
  return RESOURCE_NAME.test(name);
}

/** Hint for a reference that is neither a name nor one of `forms`: for a URL, the path in it. */
export function referenceHint(reference: string, forms: string): string {
  const [, path] = /^https?:\/\/[^/]+\/(?:compute|tpu)?\/?(?:v\d\w*\/)?(projects\/.+)$/.exec(reference) ?? [];
  return path === undefined ? forms : `a URL is not taken: write ${path}`;
}

/** `us-central1` of `us-central1-a`. */
export const regionOf = (zone: string): string => zone.slice(0, zone.lastIndexOf('-'));

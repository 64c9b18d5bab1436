import type { Path } from './problem.js';

/** Choices of jobs about resources that others control: keys of `[allow]` in a pool file (docs/adr/0075). */
export const CHOICE_KEYS = [
  'google_projects',
  'service_accounts',
  'scopes',
  'networks',
  'external_ips',
  'tags',
  'metadata',
  'reservations',
  'data_disks',
  'images',
  'notify',
  'machines',
  'secrets',
  'labels',
  'node_selectors',
  'tolerations',
  'priority_classes',
] as const;
export type ChoiceKey = (typeof CHOICE_KEYS)[number];

/** Patterns by key of `[allow]`. */
export type ChoiceLists = { readonly [Key in ChoiceKey]?: readonly string[] | undefined };

/** One value that a job file chooses. */
export interface Choice {
  readonly key: ChoiceKey;
  /** The choice's place in the job file, or the place that it would have. */
  readonly path: Path;
  readonly value: string;
  /** The file does not name it: this is the provider's default. */
  readonly isImplied?: true;
}

/** A choice that a job makes only if its file has a value for it. */
export const choiceIf = (key: ChoiceKey, path: Path, value: string | undefined): readonly Choice[] =>
  value === undefined ? [] : [{ key, path, value }];

/** Entries of a map in the form of `[allow]`: `KEY=VALUE`. */
export const entryChoices = (
  key: ChoiceKey,
  path: Path,
  entries: Readonly<Record<string, string>>,
): readonly Choice[] =>
  Object.entries(entries).map(([name, value]) => ({ key, path: [...path, name], value: `${name}=${value}` }));

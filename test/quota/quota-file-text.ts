/** A project of a quota file: its members' patterns, and its share of every type, 0 to 1. */
interface ProjectText {
  readonly members: readonly string[];
  readonly share: number;
}

/** A quota file with one tier, for tests whose pool is what matters and not how a file is written. */
export function quotaFileText(
  units: Readonly<Record<string, number>>,
  projects: Readonly<Record<string, ProjectText>>,
): string {
  const amounts = Object.entries(units).map(([type, amount]) => `${type} = ${amount}`);
  const members = Object.entries(projects).map(([name, { members: of }]) => `${name} = ${JSON.stringify(of)}`);
  const shares = Object.entries(projects).flatMap(([name, { share }]) => [
    `[project_resources.${name}]`,
    ...Object.keys(units).map((type) => `${type} = ${share}`),
  ]);
  return [
    ...['[toml-schema]', 'version = "1"', '[total_resources]', ...amounts],
    ...['[project_membership]', ...members, ...shares, ''],
  ].join('\n');
}

/** One project that everybody is in, and that has all units. */
export const everybodysQuota = (units: Readonly<Record<string, number>>): string =>
  quotaFileText(units, { everyone: { members: ['.*'], share: 1 } });

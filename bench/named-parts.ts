import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

/**
 * Yields the rows of the parts that `--only a,b` names, or of all parts without it. A line about the machine is printed first. An
 * unknown name ends the process with code 2.
 */
export async function* rowsOfParts<Row>(
  parts: Readonly<Record<string, () => readonly Row[] | Promise<readonly Row[]>>>,
): AsyncGenerator<Row> {
  const { values } = parseArgs({ options: { only: { type: 'string' } } });
  const wanted = values.only?.split(',') ?? Object.keys(parts);
  const unknown = wanted.find((name) => parts[name] === undefined);
  if (unknown !== undefined) {
    console.error(`--only ${unknown}: there are ${Object.keys(parts).join(', ')}`);
    process.exit(2);
  }
  console.log(`node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before\n`);
  for (const name of wanted) yield* (await parts[name]?.()) ?? [];
}

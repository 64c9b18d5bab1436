import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

/**
 * The rows of those parts that `--only a,b` of the command line names, of all without it, under a line that says on what
 * machine. A name that is none ends the process with code 2.
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

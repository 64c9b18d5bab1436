import { type CliContext, type ContextFlags, resolveContext } from '../context.js';
import { lookOf } from '../../terminal/render/look.js';
import { visibleText } from '../../../domain/visible-text.js';
import { printErr } from '../../terminal/print.js';

/** `context prod`, `context local`, or `server 10.0.0.1:7233` if no context was named. For headers. */
export function shortPlace({ place }: CliContext): string | undefined {
  if (place === undefined) return undefined;
  if (place.name !== undefined) return `context ${place.name}`;
  return `server ${place.address ?? "of Temporal's profile"}`;
}

/** `context prod: temporal.example.com:7233, namespace ml`. */
function placeLine(context: CliContext): string | undefined {
  const short = shortPlace(context);
  if (short === undefined) return undefined;
  const { place, temporal, label } = context;
  const details = [
    ...(place?.name === undefined || place.address === undefined ? [] : [place.address]),
    ...(temporal.namespace === undefined ? [] : [`namespace ${temporal.namespace}`]),
    // The name of the local stack already tells its cloud, and its jobs on a user's own machines are no rehearsal.
    ...(label === undefined || place?.name === 'local' ? [] : [label]),
  ];
  return details.length === 0 ? short : `${short}: ${details.join(', ')}`;
}

/** Contexts whose place was printed. */
const told = new WeakSet<CliContext>();

/** Resolves the place of a verb that changes something there, and prints it to stderr before any question or change. */
export function contextToChange(flags: ContextFlags & { readonly output?: string }): CliContext {
  const context = resolveContext(flags);
  told.add(context);
  const line = placeLine(context);
  if (flags.output !== 'json' && line !== undefined) printErr(`${line}\n`);
  return context;
}

/** For verbs that only read: prints the place, only on a terminal and only if a context of the file is used. */
export function tellReadPlace(context: CliContext): void {
  if (!process.stderr.isTTY || context.place?.kind !== 'context' || told.has(context)) return;
  told.add(context);
  const line = placeLine(context);
  if (line !== undefined)
    process.stderr.write(`${lookOf(process.stderr, process.env).paint('dim', visibleText(line))}\n`);
}

/** Aborts at the first Ctrl-C or SIGTERM; a second one ends the process, as an impatient user wants. */
export function interruptSignal(): AbortSignal {
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupt.abort());
  return interrupt.signal;
}

/** An error that tells the user why a server could not listen and what to do. `flag` chooses another port. */
export function listenFailure(what: string, port: number, error: Error & { code?: string }, flag: string): Error {
  const isTaken = error.code === 'EADDRINUSE' || error.message.includes('EADDRINUSE');
  const reason = isTaken ? 'is in use by another process' : `cannot be listened on (${error.message})`;
  return new Error(`${what}: port ${port} on 127.0.0.1 ${reason}; stop that process or choose another with ${flag}`);
}

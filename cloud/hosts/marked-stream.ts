/** What the runner prints before the bytes of a run's output. */
const MARK = Buffer.from('\u0001jobctl-follow\n');

/** The same for a shell script. */
export const PRINT_MARK = String.raw`printf '\001jobctl-follow\n'`;

/** Passes on what comes after the mark; before it stands what the host's login files print. Chunks may cut the mark. */
export function afterMark(onChunk: (chunk: Buffer) => void | Promise<void>): (chunk: Buffer) => void | Promise<void> {
  let head: Buffer | undefined = Buffer.alloc(0);
  return (chunk) => {
    if (head === undefined) return onChunk(chunk);
    head = Buffer.concat([head, chunk]);
    const at = head.indexOf(MARK);
    if (at < 0) return undefined;
    const rest = head.subarray(at + MARK.length);
    head = undefined;
    return rest.length > 0 ? onChunk(rest) : undefined;
  };
}

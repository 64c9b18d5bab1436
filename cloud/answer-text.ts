/** Limit for one answer of a provider, in bytes. A page of 1,000 slices of 64 hosts has about 30 MiB. */
const MOST_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Reads the text of an answer. Behind a provider's address there may be a proxy, or a wrongly configured endpoint, so it never
 * collects more than `most` bytes (docs/adr/0095).
 * @param body from `fetch`, or a message of node:http
 * @throws Error with a text that is meant to follow the address in a message
 */
export async function answerText(body: AsyncIterable<Uint8Array> | null, most = MOST_ANSWER_BYTES): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > most) throw new Error(`the answer is longer than ${most} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

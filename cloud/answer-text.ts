/** Of one answer of a provider, in bytes. A page of 1,000 slices of 64 hosts has about 30 MiB. */
const MOST_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * The text of an answer. What answers at a provider's address may be a proxy, or an endpoint that somebody configured wrongly: more
 * than `most` bytes are never collected (docs/adr/0095).
 * @param body of `fetch`, or a message of node:http
 * @throws Error that goes on behind the address
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

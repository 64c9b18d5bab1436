import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import proto from '@temporalio/proto';
import { Pseudonyms } from '../../client/export/pseudonyms.js';
import { type DecodePayloads, EventRedaction } from '../../client/export/redact-event.js';
import { openCodec } from '../../cloud/codec/payload-codec.js';
import type { RecordedHistory } from './recorded.js';

/** Temporal's JSON of a history's events. */
export const eventsOf = (history: proto.temporal.api.history.v1.IHistory): readonly unknown[] =>
  (JSON.parse(historyToJSON(history)) as { readonly events: readonly unknown[] }).events;

export const historyOf = (events: readonly unknown[]): proto.temporal.api.history.v1.History =>
  proto.temporal.api.history.v1.History.fromObject(historyFromJSON({ events }));

/** The history as `jobctl export` writes it. */
export async function redactedHistory({
  file,
  workflowId,
  history,
  codecKey,
}: RecordedHistory): Promise<RecordedHistory> {
  const names = new Pseudonyms();
  const redaction = new EventRedaction(names, await decoding(codecKey));
  const [start, ...rest] = eventsOf(history);
  // As an export does: the user's words are known before a sentence is written.
  await redaction.redact(start);
  const events: unknown[] = [];
  for (const event of [start, ...rest]) events.push(await redaction.redact(event));
  return { file, workflowId: names.id(workflowId), history: historyOf(events), codecKey: undefined };
}

async function decoding(codecKey: string | undefined): Promise<DecodePayloads> {
  if (codecKey === undefined) return async (payloads) => payloads;
  const codec = await openCodec({ key: 'env:KEY' }, { onUnknownKey: 'fail', environment: { KEY: codecKey } });
  return (payloads) => codec.decode(payloads);
}

import type { GuestFacts } from '../port.js';
import type { ApiGuestAttributes } from './tpu-api.js';

/** Reads the namespaces and keys that the guest agent writes and gcloud reads (docs/facts.md, "Cloud TPU"). */
export function guestFacts({ queryValue }: ApiGuestAttributes): GuestFacts {
  const items = queryValue?.items ?? [];
  // A key without a value has not been written yet.
  const hostKeys = items.flatMap(({ namespace, key, value }) =>
    namespace === 'hostkeys' && value?.trim() ? [`${key} ${value.trim()}`] : [],
  );
  const hostname = items.find(({ key }) => key === 'hostname')?.value;
  return { hostKeys, ...(hostname && { hostname }) };
}

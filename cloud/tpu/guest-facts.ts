import type { GuestFacts } from './port.js';
import type { ApiGuestAttributes } from './tpu-api.js';

/** Namespaces and keys as the guest agent writes them and gcloud reads them (facts/cloud-tpu.md 1.3). */
export function guestFacts({ queryValue }: ApiGuestAttributes): GuestFacts {
  const items = queryValue?.items ?? [];
  const hostKeys = items
    .filter(({ namespace }) => namespace === 'hostkeys')
    .map(({ key, value }) => `${key} ${value?.trim()}`);
  const hostname = items.find(({ key }) => key === 'hostname')?.value;
  return { hostKeys, ...(hostname && { hostname }) };
}

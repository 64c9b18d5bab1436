import type { Adapter, AdapterPayload } from 'oidc-provider';

/** Sessions and grants of a provider, kept over its rotation of keys, as those of a real one are in its database. */
export class KeptGrants {
  readonly #stored = new Map<string, AdapterPayload>();

  readonly adapterOf = (model: string): Adapter => {
    const stored = this.#stored;
    const keyOf = (id: string): string => `${model} ${id}`;
    const found = (is: (payload: AdapterPayload) => boolean): AdapterPayload | undefined =>
      [...stored].find(([key, payload]) => key.startsWith(`${model} `) && is(payload))?.[1];
    return {
      upsert: async (id, payload) => void stored.set(keyOf(id), payload),
      find: async (id) => stored.get(keyOf(id)),
      findByUid: async (uid) => found((payload) => payload.uid === uid),
      findByUserCode: async (code) => found((payload) => payload.userCode === code),
      consume: async (id) => {
        const payload = stored.get(keyOf(id));
        if (payload !== undefined) stored.set(keyOf(id), { ...payload, consumed: Math.floor(Date.now() / 1_000) });
      },
      destroy: async (id) => void stored.delete(keyOf(id)),
      revokeByGrantId: async (grantId) => {
        for (const [key, payload] of stored) if (payload.grantId === grantId) stored.delete(key);
      },
    };
  };
}

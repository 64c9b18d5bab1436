import type { MachineKindName } from '../../domain/machines.js';
import type { MachineAdapters, Machines, MachinesOf } from './port.js';

/** Characters of one text from a provider. It is carried, stored, shown and repeated with each refusal. */
export const MOST_CLOUD_TEXT = 2_000;

/**
 * The same machines, with every text of their provider cut: in answers, in errors, and in what a listing missed. No other place
 * does this, so nothing behind the port may rely on the length of such a text.
 */
export function withBoundedTexts(machines: Machines): Machines {
  const put = machines.putAside?.bind(machines);
  const attributes = machines.readGuestAttributes?.bind(machines);
  const metadata = machines.readNodeMetadata?.bind(machines);
  return {
    create: (plan) => bounded(machines.create(plan)),
    observe: (claim) => bounded(machines.observe(claim)),
    watch: (claim, options) => bounded(machines.watch(claim, options)),
    remove: (ref, owner) => bounded(machines.remove(ref, owner)),
    removal: (operation) => bounded(machines.removal(operation)),
    listOwned: (account, owner, onMissing) =>
      bounded(
        machines.listOwned(account, owner, onMissing && ((place, why) => onMissing(cutText(place), cutText(why)))),
      ),
    ...(put && { putAside: (machine, reason) => bounded(put(machine, reason)) }),
    // Keys and metadata are data that no message holds.
    ...(attributes && { readGuestAttributes: (ref) => attributes(ref).catch(rethrowCut) }),
    ...(metadata && { readNodeMetadata: (ref) => metadata(ref).catch(rethrowCut) }),
    close: () => machines.close(),
  };
}

/** The adapters by their kinds, with bounded texts. */
export function machinesOf(adapters: MachineAdapters): MachinesOf {
  const bounded = new Map<MachineKindName, Machines>();
  return (kind) => {
    const machines = bounded.get(kind) ?? withBoundedTexts(adapters[kind]);
    bounded.set(kind, machines);
    return machines;
  };
}

async function bounded<T>(call: Promise<T>): Promise<T> {
  try {
    return withCutTexts(await call) as T;
  } catch (error) {
    throw cutError(error);
  }
}

function withCutTexts(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value);
  if (Array.isArray(value)) return value.map(withCutTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withCutTexts(each)]));
}

function rethrowCut(error: unknown): never {
  throw cutError(error);
}

/** Its class says what it means, so it stays the same error. */
function cutError(error: unknown): unknown {
  const seen = new Set<unknown>();
  for (let each = error; each instanceof Error && !seen.has(each); each = each.cause) {
    seen.add(each);
    if (each.message.length <= MOST_CLOUD_TEXT) continue;
    // A stack begins with the message.
    each.message = cutText(each.message);
    each.stack = `${each.name}: ${each.message}`;
  }
  return error;
}

function cutText(text: string): string {
  if (text.length <= MOST_CLOUD_TEXT) return text;
  // A cut may leave half a character, which no message of ours may hold.
  const head = text.slice(0, MOST_CLOUD_TEXT).replace(/[\ud800-\udbff]$/, '');
  return `${head} .. (cut here, of ${text.length} characters; the provider's own tools show the whole)`;
}

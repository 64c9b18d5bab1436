import type { MachineKindName } from '../../domain/machines.js';
import type { MachineAdapters, Machines, MachinesOf } from './port.js';

/** Limit for one text from a provider, in characters. Each refusal carries, stores, shows and repeats such a text. */
export const MOST_CLOUD_TEXT = 2_000;

/** The port's calls by the content of their answers. `data`: keys and metadata, which stay whole, as no message contains them. */
const ANSWERS = {
  ...{ create: 'texts', observe: 'texts', watch: 'texts', remove: 'texts', removal: 'texts' },
  ...{ listOwned: 'texts', putAside: 'texts' },
  ...{ readGuestAttributes: 'data', readNodeMetadata: 'data', close: 'data' },
} as const satisfies { readonly [Call in keyof Machines]-?: 'texts' | 'data' };

type AnyCall = (...given: readonly unknown[]) => Promise<unknown>;

/**
 * Cuts every text of the provider: in answers, in errors, and in what a listing reports as missing. No other place does this, so
 * nothing behind the port may rely on the length of such a text.
 */
export function withBoundedTexts(machines: Machines): Machines {
  const calls = (Object.keys(ANSWERS) as (keyof Machines)[]).flatMap(
    (name): readonly (readonly [string, AnyCall])[] => {
      const call = machines[name]?.bind(machines) as AnyCall | undefined;
      return call === undefined ? [] : [[name, bounded(call, ANSWERS[name])]];
    },
  );
  return Object.fromEntries(calls) as unknown as Machines;
}

/** The adapters by their kinds, with bounded texts. */
export function machinesOf(adapters: MachineAdapters): MachinesOf {
  const known = new Map<MachineKindName, Machines>();
  return (kind) => {
    const machines = known.get(kind) ?? withBoundedTexts(adapters[kind]);
    known.set(kind, machines);
    return machines;
  };
}

const bounded =
  (call: AnyCall, answers: 'texts' | 'data'): AnyCall =>
  async (...given) => {
    try {
      const answer = await call(...given.map(withCutCalls));
      return answers === 'data' ? answer : withCutTexts(answer);
    } catch (error) {
      throw cutError(error);
    }
  };

/** Wraps a function that a caller passes in, so that it gets the provider's texts cut. */
const withCutCalls = (given: unknown): unknown =>
  typeof given === 'function'
    ? (...texts: readonly unknown[]): unknown => (given as AnyCall)(...texts.map(withCutTexts))
    : given;

function withCutTexts(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value);
  if (Array.isArray(value)) return value.map(withCutTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withCutTexts(each)]));
}

/** Cuts the messages in place: callers tell errors by their class, so it must stay the same error. */
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

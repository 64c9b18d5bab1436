import { type CST, Parser, type Document, isMap, isSeq, visit } from 'yaml';
import { MOST_LEVELS } from './yaml-words.js';

/** Far more levels than any job file has, and far fewer than composing can follow. */
const MOST_COMPOSED = 200;

interface Open {
  readonly token: CST.Token;
  readonly level: number;
  /** Offset of the first token on the path to this one that is too deep. */
  readonly tooDeepAt?: number;
}

/**
 * Returns the offset at which a text is nested so deeply that composing it could exhaust the stack. `yaml` catches that error,
 * but V8 does not always let it: an expression first compiled there ends the whole process. Reading tokens takes no stack.
 */
export function tooDeepAt(text: string): number | undefined {
  const open: Open[] = [...new Parser().parse(text)].map((token) => ({ token, level: 0 }));
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const { token } = each;
    const level = 'items' in token ? each.level + 1 : each.level;
    const at = each.tooDeepAt ?? (level > MOST_LEVELS ? token.offset : undefined);
    if (level > MOST_COMPOSED) return at;
    for (const child of childrenOf(token))
      open.push({ token: child, level, ...(at === undefined ? {} : { tooDeepAt: at }) });
  }
  return undefined;
}

function childrenOf(token: CST.Token): readonly CST.Token[] {
  if (token.type === 'document') return token.value === undefined ? [] : [token.value];
  if (!('items' in token)) return [];
  return token.items.flatMap(({ key, value }) => [key, value].filter((child) => child !== undefined && child !== null));
}

/** The offset of an alias inside of the value that it names, which would have no end. */
export function inItselfAt(document: Document.Parsed): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Alias: (_, alias, path) => {
      const around = path.filter((node) => (isMap(node) || isSeq(node)) && node.anchor === alias.source);
      if (around.length === 0 || !around.some((node) => node === alias.resolve(document))) return undefined;
      offset = alias.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return offset;
}

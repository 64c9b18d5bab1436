import { type Document, isMap, isSeq, visit } from 'yaml';

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

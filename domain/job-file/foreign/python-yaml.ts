import { type Document, isAlias, isNode, isScalar, type Node, parseAllDocuments, Scalar, visit } from 'yaml';
import { pythonScalar } from './python-scalar.js';
import { inItselfAt } from '../yaml-depth.js';

/** Sections of all tools whose values end up as texts in a program's environment. */
const OF_ENVIRONMENT = new Set(['env', 'envs', 'secrets']);
/** More aliases than any file has below its variables. */
const MOST_ALIASES = 500;

/** The documents of another tool's file as the tool reads them: PyYAML is of YAML 1.1. None if one is no YAML. */
export function pythonDocuments(text: string): readonly unknown[] {
  const all = parseAllDocuments(text, { merge: true, logLevel: 'error' });
  if (!Array.isArray(all)) return [];
  if (all.some((each) => each.errors.length > 0 || inItselfAt(each) !== undefined)) return [];
  try {
    return all.map((document) => {
      readScalars(document);
      return document.toJS() as unknown;
    });
  } catch {
    return [];
  }
}

function readScalars(document: Document.Parsed): void {
  let aliases = 0;
  visit(document, {
    Alias: (_key, alias, path) => {
      if (!isInEnvironment(path as readonly Node[]) || ++aliases > MOST_ALIASES) return undefined;
      // An anchor outside of the section is read without Python's spelling.
      const copy = alias.resolve(document)?.clone();
      if (isNode(copy) && !isAlias(copy)) delete copy.anchor;
      return isNode(copy) ? copy : undefined;
    },
    Scalar: (_key, scalar, path) => {
      if (scalar.type !== Scalar.PLAIN || scalar.tag !== undefined || scalar.source === undefined) return;
      if (scalar.source === '<<') return;
      const { value, text } = pythonScalar(scalar.source);
      scalar.value = isInEnvironment(path as readonly Node[]) ? (text ?? null) : value;
    },
  });
}

const isInEnvironment = (path: readonly (Node | { readonly key?: unknown })[]): boolean =>
  path.some((each) => 'key' in each && isScalar(each.key) && OF_ENVIRONMENT.has(String(each.key.value)));

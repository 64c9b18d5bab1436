import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { configureRequest } from './admin/requests.js';
import { YamlText } from './script/yaml-text.js';
import type { Settings } from './tpu/settings.js';

/**
 * Reads a YAML or JSON file with the fields of `POST /admin/configure`.
 * @throws Error with file, line, column, value and what is wanted
 */
export function readSettingsFile(file: string): Partial<Settings> {
  const source = new YamlText(readFileSync(file, 'utf8'));
  const fault = source.faults[0];
  if (fault !== undefined) throw new Error(`${file}:${fault.line}:${fault.column}: ${fault.message}`);
  const tree = source.tree() ?? {};
  const read = configureRequest.safeParse(tree);
  if (read.success) return given(read.data);
  const problems = read.error.issues.map((issue) => `${file}:${problemOf(issue, tree, source)}`);
  throw new Error(problems.join('\n'));
}

/** Returns `line:column: problem`. A problem with a key points at the key. */
function problemOf(issue: z.core.$ZodIssue, tree: unknown, source: YamlText): string {
  const path = issue.path.filter((segment) => typeof segment !== 'symbol');
  const at = (to: readonly (string | number)[], part: 'key' | 'value', text: string): string => {
    const { line, column } = source.placeOf(to, part);
    return `${line}:${column}: ${text}`;
  };
  if (issue.code === 'unrecognized_keys') return at([...path, issue.keys[0] ?? ''], 'key', issue.message);
  const name = path.join('.');
  if (issue.code === 'invalid_key') return at(path, 'key', `${name}: ${issue.issues[0]?.message ?? issue.message}`);
  return at(path, 'value', `${name}: ${JSON.stringify(valueAt(tree, path)) ?? 'nothing'}: ${issue.message}`);
}

function valueAt(tree: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((part, key) => (part as Record<string, unknown> | undefined)?.[key], tree);
}

function given(settings: object): Partial<Settings> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

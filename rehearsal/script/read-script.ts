import type { z } from 'zod';
import { nearestKey } from './nearest-key.js';
import { isObject } from '../json.js';
import type { ActionName, WrittenEvent, WrittenScript } from './schema.js';
import { ACTIONS, scriptSchema } from './schema.js';
import type { Path, Place } from './yaml-text.js';
import { YamlText } from './yaml-text.js';

/** A script that cannot be run. The message has a line for each problem, with its line and column. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
}

/** One event, with its action and its line in the text. */
export interface ScriptEvent extends WrittenEvent {
  readonly action: ActionName;
  readonly line: number;
}

export interface Script extends Omit<WrittenScript, 'events'> {
  readonly events: readonly ScriptEvent[];
}

/** @throws ScriptError with every problem, in the order of the text */
export function readScript(text: string): Script {
  const source = new YamlText(text);
  if (source.faults.length > 0) throw scriptError(source.faults);
  const tree = treeOf(source);
  const checked = scriptSchema.safeParse(tree);
  const problems = [
    ...(checked.success ? [] : checked.error.issues.flatMap((issue) => formProblems(issue, tree))),
    ...eventsOf(tree).flatMap(senseProblems),
  ];
  if (problems.length > 0 || !checked.success) {
    throw scriptError(problems.map(({ path, at, message }) => ({ ...source.placeOf(path, at), message })));
  }
  const events = checked.data.events.map((event, index) => {
    const [action] = actionsIn(event);
    return { ...event, action: action as ActionName, line: source.placeOf(['events', index]).line };
  });
  return { ...checked.data, events };
}

interface Problem {
  readonly path: Path;
  readonly at: 'key' | 'value';
  readonly message: string;
}

function treeOf(source: YamlText): unknown {
  try {
    return source.tree() ?? {};
  } catch (error) {
    throw scriptError([{ line: 1, column: 1, message: `not YAML: ${(error as Error).message}` }]);
  }
}

function scriptError(problems: readonly (Place & { readonly message: string })[]): ScriptError {
  const inOrder = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
  return new ScriptError(inOrder.map(({ line, column, message }) => `${line}:${column}: ${message}`).join('\n'));
}

type Issue = z.core.$ZodIssue;

function formProblems(issue: Issue, tree: unknown): readonly Problem[] {
  const branch = issue.code === 'invalid_union' ? branchMeant(issue) : undefined;
  if (branch !== undefined) return branch.flatMap((inner) => formProblems(inner, tree));
  const path = issue.path.filter((segment) => typeof segment !== 'symbol');
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...path, key]));
  const value = path.reduce<unknown>((part, segment) => (part as Record<string, unknown> | undefined)?.[segment], tree);
  if (value === undefined) return [{ path, at: 'key', message: `${shownPath(path)} is missing` }];
  const words = allowedWords(issue);
  const isTable = issue.code === 'invalid_type' && issue.expected === 'object';
  const plain = isTable ? 'a table of keys and values' : issue.message;
  const is = words === undefined ? plain : `one of ${words.join(', ')}${meant(String(value), words)}`;
  const params = issue.code === 'custom' ? issue.params : undefined;
  if (params?.['at'] === 'key') return [{ path, at: 'key', message: `'${String(path.at(-1))}' is not ${is}` }];
  return [{ path, at: 'value', message: `${shownPath(path)}: ${shown(value)} is not ${is}` }];
}

/** For a union, returns the problems of the one variant that matches the value's shape, or undefined unless exactly one does. */
function branchMeant({ path, errors }: z.core.$ZodIssueInvalidUnion): Issue[] | undefined {
  const inside = errors.filter((issues) => issues.every((issue) => issue.path.length > 0 || issue.code === 'custom'));
  const [branch] = inside;
  return branch === undefined || inside.length > 1
    ? undefined
    : branch.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
}

function allowedWords(issue: Issue): readonly string[] | undefined {
  if (issue.code === 'invalid_value' && issue.values.length > 1) return issue.values.map(String);
  return issue.code === 'custom' ? (issue.params?.['words'] as readonly string[] | undefined) : undefined;
}

function unknownKey(path: Path): Problem {
  const known = knownKeys(path.slice(0, -1));
  const key = String(path.at(-1));
  const place = path.length === 1 ? 'a script' : shownPath(path.slice(0, -1));
  return { path, at: 'key', message: `no key '${key}' in ${place}${meant(key, known)}; known: ${known.join(', ')}` };
}

function meant(word: string, known: readonly string[]): string {
  const nearest = nearestKey(word, known);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}

/** The keys that the schema knows at `path`. */
function knownKeys(path: Path): readonly string[] {
  let schema: unknown = scriptSchema;
  for (const segment of path) {
    const parts = bare(schema);
    schema = typeof segment === 'number' ? parts?.element : objectIn(parts)?.shape?.[segment];
  }
  return Object.keys(objectIn(bare(schema))?.shape ?? {});
}

interface SchemaParts {
  readonly shape?: Record<string, unknown>;
  readonly element?: unknown;
  readonly options?: readonly unknown[];
  readonly unwrap?: () => unknown;
}

/** Unwraps optional and default. */
function bare(schema: unknown): SchemaParts | undefined {
  let parts = schema as SchemaParts | undefined;
  while (parts?.unwrap !== undefined && parts.element === undefined) parts = parts.unwrap() as SchemaParts;
  return parts;
}

/** For a union, returns the variant that is an object. */
function objectIn(parts: SchemaParts | undefined): SchemaParts | undefined {
  return parts?.options?.map(bare).find((option) => option?.shape !== undefined) ?? parts;
}

type YamlMap = Readonly<Record<string, unknown>>;

function eventsOf(tree: unknown): readonly (readonly [event: YamlMap, index: number])[] {
  const events = (tree as { readonly events?: unknown } | undefined)?.events;
  if (!Array.isArray(events)) return [];
  return events.flatMap((event: unknown, index) => (isObject(event) ? [[event, index] as const] : []));
}

/** Problems of an event that the schema of its fields does not find. */
function senseProblems([event, index]: readonly [YamlMap, number]): readonly Problem[] {
  const path = ['events', index];
  const actions = actionsIn(event);
  const problems: Problem[] = [];
  const add = (message: string, key?: string): void => {
    problems.push({
      path: key === undefined ? path : [...path, key],
      at: 'key',
      message: `events[${index}]: ${message}`,
    });
  };
  if ((event['at'] === undefined) === (event['when'] === undefined)) add('needs at or when, one of the two');
  const known = new Set([...EVENT_FIELDS, ...Object.keys(ACTIONS)]);
  const isComplete = Object.keys(event).every((key) => known.has(key));
  if (actions.length === 0 && isComplete) add(`does nothing; one of ${Object.keys(ACTIONS).join(', ')}`);
  if (actions.length > 1) add(`does ${actions.join(' and ')}; an event does one thing`, actions[1]);
  if (event['at'] !== undefined && Number(event['repeat'] ?? 1) > 1 && event['every'] === undefined) {
    add('repeats at no distance; add every', 'repeat');
  }
  for (const action of actions) {
    const body = event[action] as YamlMap | null;
    const needed = NEEDED_TARGET[action];
    if (needed !== undefined && event['when'] === undefined && body?.[needed] === undefined) {
      add(`${action} names no ${needed}; only an event with when has one to begin with`, action);
    }
  }
  return problems;
}

const EVENT_FIELDS = ['at', 'when', 'repeat', 'every', 'jitter', 'chance'];

/** The target that an action needs if the event has no `when`. */
const NEEDED_TARGET: Readonly<Partial<Record<ActionName, string>>> = {
  preempt: 'node',
  warn: 'node',
  maintenance: 'node',
  fail: 'queuedResource',
  sendBack: 'queuedResource',
  ssh: 'node',
  fullDisk: 'node',
  freeze: 'node',
  stopProcesses: 'node',
};

/** Actions of the event, in the order of the text. */
function actionsIn(event: object): readonly ActionName[] {
  const values = event as Readonly<Record<string, unknown>>;
  return Object.keys(event).filter((name): name is ActionName => name in ACTIONS && values[name] !== undefined);
}

/** Formats a path, such as `events[2].preempt.notice`. */
function shownPath(path: Path): string {
  const parts = path.map((segment) => (typeof segment === 'number' ? `[${segment}]` : `.${segment}`));
  return parts.join('').replace(/^\./, '') || 'a script';
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

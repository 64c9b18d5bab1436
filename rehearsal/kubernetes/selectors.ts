import { refusals } from './api-status.js';
import type { KubeObject } from './objects.js';

export type Matches = (object: KubeObject) => boolean;

/** Requirements of a selector, separated by commas. Brackets contain the values of a set. */
const REQUIREMENT = /\s*((?:[^,(]|\([^)]*\))+)\s*(?:,|$)/g;

/**
 * A label selector: `a=b`, `a==b`, `a!=b`, `a`, `!a`, `a in (b,c)`, `a notin (b,c)`. All parts must hold.
 * @throws ApiRefusal 400
 */
export function labelMatcher(selector: string): Matches {
  const tests = [...selector.matchAll(REQUIREMENT)].map(([, text = '']) => labelTest(text.trim(), selector));
  return ({ metadata: { labels = {} } }) => tests.every((test) => test(labels));
}

function labelTest(text: string, whole: string): (labels: Readonly<Record<string, string>>) => boolean {
  const set = /^([\w./-]+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(text);
  if (set) {
    const [, key = '', verb, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    const isIn = verb === 'in';
    return (labels) => values.includes(labels[key] ?? '\0') === isIn;
  }
  const [, key = '', operator, value = ''] = /^([\w./-]+)\s*(==|=|!=)\s*([\w.-]*)$/.exec(text) ?? [];
  if (operator === '!=') return (labels) => labels[key] !== value;
  if (operator !== undefined) return (labels) => labels[key] === value;
  const [, not, name = ''] = /^(!?)([\w./-]+)$/.exec(text) ?? [];
  if (name === '') throw refusals.badRequest(`unable to parse requirement: '${whole}'`);
  return (labels) => Object.hasOwn(labels, name) !== (not === '!');
}

/** Fields of each kind that can be selected; `metadata.name` and `metadata.namespace` can be selected for all kinds. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  Pod: ['spec.nodeName', 'status.phase', 'spec.restartPolicy', 'spec.serviceAccountName', 'status.podIP'],
  Event: [
    'type',
    'reason',
    'involvedObject.kind',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.namespace',
  ],
  Job: ['status.successful'],
  Secret: ['type'],
  Namespace: ['status.phase'],
};

/** `a=b`, `a!=b`. @throws ApiRefusal 400 for a field that cannot be selected */
export function fieldMatcher(selector: string, kind: string): Matches {
  const tests = selector.split(',').map((text): Matches => {
    const [, path = '', operator, value = ''] = /^([\w.]+)(==|=|!=)(.*)$/.exec(text.trim()) ?? [];
    const isKnown = /^metadata\.(name|namespace)$/.test(path) || FIELDS[kind]?.includes(path);
    if (!isKnown)
      throw refusals.badRequest(
        `Unable to find "${kind}" that match label selector "", field selector "${selector}": field label not supported: ${path || text}`,
      );
    return (object) => (String(valueAt(object, path) ?? '') === value) === (operator !== '!=');
  });
  return (object) => tests.every((test) => test(object));
}

const valueAt = (object: unknown, path: string): unknown =>
  path.split('.').reduce((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);

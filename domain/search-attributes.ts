/**
 * The search attributes of a job's workflow, all of type Keyword. Only they and the memo supply the rows of a list
 * (docs/design.md, "Temporal"). They are never encrypted.
 */
export const JOB_SEARCH_ATTRIBUTES = ['JobProject', 'JobUser', 'JobPhase', 'JobAccelerator', 'JobPool'] as const;
/** `JobPhase` of a submission refused before it became a job: lists leave it out, and its id is free (docs/adr/0125). */
export const REFUSED_PHASE = 'refused';
export type JobSearchAttribute = (typeof JOB_SEARCH_ATTRIBUTES)[number];

/** `temporal.api.enums.v1.IndexedValueType`, by number. */
const TYPE_NAMES = ['Unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
export const KEYWORD = TYPE_NAMES.indexOf('Keyword');

export interface SearchAttributeGaps {
  readonly missing: readonly JobSearchAttribute[];
  /** Exists under our name with a type other than Keyword. A type cannot be changed. */
  readonly otherType: readonly { readonly name: JobSearchAttribute; readonly type: string }[];
}

/** @param known a namespace's custom attributes, by name, with the number of their type */
export function searchAttributeGaps(known: Readonly<Record<string, number>>): SearchAttributeGaps {
  const missing = JOB_SEARCH_ATTRIBUTES.filter((name) => known[name] === undefined);
  const otherType = JOB_SEARCH_ATTRIBUTES.flatMap((name) => {
    const type = known[name];
    return type === undefined || type === KEYWORD ? [] : [{ name, type: TYPE_NAMES[type] ?? String(type) }];
  });
  return { missing, otherType };
}

/** The problem and its remedy in one sentence, or undefined if nothing is missing. */
export function explainGaps({ missing, otherType }: SearchAttributeGaps, namespace: string): string | undefined {
  const [wrong] = otherType;
  if (wrong !== undefined) {
    const { name, type } = wrong;
    return (
      `search attribute ${name} of Temporal namespace ${namespace}: it has type ${type}, jobctl needs Keyword. ` +
      `Give jobctl a namespace of its own, or remove it: temporal operator search-attribute remove --namespace ${namespace} --name ${name}`
    );
  }
  if (missing.length === 0) return undefined;
  const what = missing.length === 1 ? `search attribute ${missing[0]}` : `search attributes ${missing.join(', ')}`;
  return (
    `${what} of Temporal namespace ${namespace}: missing. Run jobctl setup server, or ` +
    `temporal operator search-attribute create --namespace ${namespace} ${missing.map((name) => `--name ${name} --type Keyword`).join(' ')}`
  );
}

/**
 * A value in a query of Temporal's visibility (`WorkflowId = 'x'`), with its quotes. Temporal's parser takes a backslash for an
 * escape, so one at the end of a value would escape the closing quote.
 */
export const queryText = (value: string): string => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

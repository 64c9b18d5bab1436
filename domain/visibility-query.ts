/**
 * A value in a query of Temporal's visibility (`WorkflowId = 'x'`), with its quotes. Temporal's parser takes a backslash for an
 * escape, so one at the end of a value would escape the closing quote.
 */
export const queryText = (value: string): string => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

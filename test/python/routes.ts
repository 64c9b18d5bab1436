import type { z } from 'zod';
import { FORMS } from '../../contract/api/forms.js';
import { type FormName, type Operation, type OperationName, OPERATIONS } from '../../contract/operations.js';
import { operationOf } from '../server/server-routes.js';
import type { PythonRequest } from './ask-core.js';

/** Keys that the client never sends, beside the `verb` of a command line: the text of a file is sent itself. */
const UNSENT: Readonly<Partial<Record<OperationName, readonly string[]>>> = {
  submit: ['source'],
  createSchedule: ['source'],
  resume: ['source'],
  restart: ['source'],
  count: ['limit', 'pageToken'],
  objects: ['startOffset'],
  logs: ['tail'],
};
/** What the command line or the page alone calls. */
export const NOT_CALLED: readonly OperationName[] = [
  ...(['beginLogin', 'endLogin', 'poolHistory'] as const),
  ...(['login', 'polls', 'objectStat'] as const),
  ...(['board', 'groupMembers', 'pageSession', 'poolUse'] as const),
  ...(['machines', 'changeMachines'] as const),
];

export interface Route {
  readonly name: OperationName;
  readonly query: z.ZodObject | undefined;
  readonly body: z.ZodObject | undefined;
  readonly headers: z.ZodObject | undefined;
  readonly unsent: readonly string[];
}

/** The route that a request is of. @throws Error if the contract has none */
export function routeOf({ method, path }: PythonRequest): Route {
  const name = operationOf(method, path);
  if (name === undefined) throw new Error(`the contract has no ${method} ${path}`);
  const { query, body, headers }: Operation = OPERATIONS[name];
  const of = (form: FormName | undefined) => (form === undefined ? undefined : (FORMS[form] as unknown as z.ZodObject));
  const taken = of(body);
  const unsent = [...(UNSENT[name] ?? []), ...(taken !== undefined && 'verb' in taken.shape ? ['verb'] : [])];
  return { name, query: of(query), body: taken, headers: of(headers), unsent };
}

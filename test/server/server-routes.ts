import type { z } from 'zod';
import { type OperationName, OPERATIONS } from '../../contract/operations.js';
import { schemaOf } from '../../server/routes/serve.js';

/** Characters: the most of a job, and of a body. */
export const BUDGETS = [370_000, 950_000];
export const PARTS = ['body', 'querystring', 'params', 'headers'] as const;

export const ROUTES = (Object.keys(OPERATIONS) as OperationName[]).map((name) => {
  const [method = '', path = ''] = OPERATIONS[name].call.split(' ');
  const schema: Readonly<Partial<Record<(typeof PARTS)[number], z.ZodType>>> = schemaOf(name);
  return { method, path, schema };
});
export type Route = (typeof ROUTES)[number];

/** The operation that a request is of. */
export const operationOf = (method: string, path: string): OperationName | undefined =>
  (Object.keys(OPERATIONS) as OperationName[]).find((name) => {
    const [known, form = ''] = OPERATIONS[name].call.split(' ');
    const words = form.split('/');
    const said = path.split('/');
    const isSame = words.every((word, at) => word.startsWith(':') || word === said[at]);
    return known === method && words.length === said.length && isSame;
  });

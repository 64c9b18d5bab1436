import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { FORMS } from '../../contract/api/forms.js';
import {
  type AnswerOf,
  type Asked,
  type FormName,
  type Operation,
  type OperationName,
  OPERATIONS,
  type RouteVerb,
} from '../../contract/operations.js';
import { ACCESS_TABLE } from '../../contract/access.js';
import type { Call, Gate } from '../access/gate.js';
import type { JobFacts } from '../access/facts.js';
import { type App, callOf } from '../bare-app.js';

/** One call of an operation. Its form has been checked. */
export interface Served<Name extends OperationName> extends Asked<Name> {
  readonly call: (typeof OPERATIONS)[Name]['access'] extends 'open' ? undefined : Call;
  /** Facts of the job for which the gate has just allowed the call. */
  readonly facts: Asked<Name>['params'] extends { readonly id: string } ? JobFacts : undefined;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

type Given<Name extends OperationName> = AnswerOf<Name> | FastifyReply;
export type Handler<Name extends OperationName> = (served: Served<Name>) => Given<Name> | Promise<Given<Name>>;

interface More extends Pick<FastifyContextConfig, 'turn' | 'rateLimit'> {
  readonly bodyLimit?: number;
  /** The handler asks the gate itself: about an object that the path does not name, or for several verbs. */
  readonly asksItself?: true;
}

/** Registers the route of an operation with its forms and answers. The gate decides on its verb before the handler runs. */
export type Serve = ReturnType<typeof servedBy>;

export const servedBy =
  (app: App, gate: Gate, isServed: (name: OperationName) => boolean = () => true) =>
  <Name extends OperationName>(name: Name, handler: Handler<Name>, more: More = {}): void => {
    if (!isServed(name)) return;
    const { bodyLimit, asksItself = false, ...config } = more;
    const { call, access, answer }: Operation = OPERATIONS[name];
    const [method = '', url = ''] = call.split(' ');
    app.route({
      ...{ method, url, schema: schemaOf(name), ...(bodyLimit === undefined ? {} : { bodyLimit }) },
      config: access === 'open' ? { isOpen: true, ...config } : { verb: access, ...config },
      handler: async (request, reply) => {
        const { params, query, headers } = request;
        const caller = access === 'open' ? undefined : callOf(request);
        const facts = caller && !asksItself ? await askGate(gate, caller, access as RouteVerb, request) : undefined;
        const asked = { params, query, headers, body: request.body ?? {}, call: caller, facts, request, reply };
        const given = await handler(asked as unknown as Served<Name>);
        return answer === undefined ? reply.status(204).send() : given;
      },
    });
  };

/** Asks the gate about the job in the path, for a verb of jobs, or about the pool in the path or query, for a verb of pools. */
async function askGate(
  gate: Gate,
  call: Call,
  verb: RouteVerb,
  request: FastifyRequest,
): Promise<JobFacts | undefined> {
  if (!(verb in ACCESS_TABLE)) return undefined;
  const known = verb as keyof typeof ACCESS_TABLE;
  const { id, pool } = request.params as { readonly id?: string; readonly pool?: string };
  if (id !== undefined) return gate.job(call, known, id);
  if (ACCESS_TABLE[known].scope !== 'pool') throw new TypeError(`${verb}: the handler of ${request.url} asks itself`);
  const { pool: asked = 'default' } = request.query as { readonly pool?: string };
  await gate.about(call, known, { pool: pool ?? asked });
  return undefined;
}

/** Rate limit for a costly call: one subject may make as many per minute as submits. */
export const dear = ({ submitsPerMinute: max }: { readonly submitsPerMinute: number }) => ({
  rateLimit: { max, timeWindow: 60_000 },
});

const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: FORMS.problemSchema } },
});

/** Answers that every call can have, for the OpenAPI document. */
const PROBLEMS = {
  400: problem('The form of the call is wrong.'),
  401: problem('No valid login.'),
  403: problem('The access table does not allow it; `detail` says who may.'),
  404: problem('There is no such job, group, pool or object.'),
  422: problem('What was sent is wrong: `detail` names every place.'),
  429: problem('Too many calls; Retry-After says when.'),
  503: problem('Temporal, the store or the issuer does not answer.'),
  default: problem('Any other failure, such as a body of another type.'),
} as const;

/** Further answers of a call that changes something: the job or the pool can refuse it. */
const CHANGE_PROBLEMS = {
  ...PROBLEMS,
  409: problem('Refused: the name is in use, or the state of the job or pool makes no sense of it.'),
  413: problem('The body is too large.'),
} as const;

const TAGS: Readonly<Record<string, string>> = {
  ...{
    jobs: 'jobs',
    groups: 'jobs',
    schedules: 'jobs',
    polls: 'jobs',
    objects: 'objects',
    uploads: 'uploads',
    pools: 'pools',
  },
};
const PARAMS = { ':id': FORMS.jobParams, ':pool': FORMS.poolParams } as const;

/** The schema of an operation's route. The OpenAPI document is made from these. */
export function schemaOf(name: OperationName) {
  const { call, access, summary, description, query, headers, body, mayLackBody, ...rest }: Operation =
    OPERATIONS[name];
  const [, area = '', param] = /\/v1\/(\w+)(?:\/(:\w+))?/.exec(call) ?? [];
  const of = (form: FormName): z.ZodType => FORMS[form];
  return {
    tags: [TAGS[area] ?? 'access'],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(access === 'open' ? { security: [] } : {}),
    ...(param === undefined ? {} : { params: PARAMS[param as keyof typeof PARAMS] }),
    ...(query === undefined ? {} : { querystring: of(query) }),
    ...(headers === undefined ? {} : { headers: of(headers) }),
    ...(body === undefined ? {} : { body: mayLackBody === true ? of(body).nullish() : of(body) }),
    response: {
      ...(access === 'open' ? {} : call.startsWith('GET') ? PROBLEMS : CHANGE_PROBLEMS),
      ...answersOf(rest),
    },
  };
}

function answersOf({ answer, known }: Pick<Operation, 'answer' | 'known'>) {
  if (answer === undefined) return { 204: z.undefined().describe('Done.') };
  if (typeof answer !== 'string') {
    const { raw: description, types } = answer;
    return { 200: { description, content: Object.fromEntries(types.map((type) => [type, { schema: z.any() }])) } };
  }
  const form: z.ZodType = FORMS[answer];
  return known === undefined ? { 200: form } : { 200: form.describe(known), 201: form };
}

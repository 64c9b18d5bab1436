import rateLimit from '@fastify/rate-limit';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyBaseLogger, FastifyError, FastifyRequest } from 'fastify';
import {
  hasZodFastifySchemaValidationErrors,
  isResponseSerializationError,
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod';
import { type App, bareApp, callOf, refuseLargeBody, refuseSlowBodies, tagAnswers, takeTurns } from './bare-app.js';
import type { ServerConfig } from './config.js';
import { refuseClearText, hostGuard, networkOf, refusedLogins } from './request-guards.js';
import type { Caller } from './identity/verifier.js';
import { ApiError, apiErrorOf, problemOf, TooManyRequests } from './problem.js';
import { type Services, VERSION } from './services.js';
import { registerJobChanges } from './routes/job-changes.js';
import type { OperationName } from '../contract/operations.js';
import { registerPage } from './page-files.js';
import { registerBoard } from './routes/board.js';
import { registerGroups } from './routes/groups.js';
import { registerJobs } from './routes/jobs.js';
import { registerLogs } from './routes/logs.js';
import { registerObjects, registerUploads } from './routes/files.js';
import { registerPools } from './routes/pools.js';
import { registerSchedules } from './routes/schedules.js';
import { servedBy } from './routes/serve.js';
import { registerSystem, registerWho } from './routes/system.js';

const DOCUMENT = '/docs';

/** The part of a configuration that `createApp` needs. */
export type AppConfig = Pick<ServerConfig, 'listen' | 'limits' | 'publicUrl' | 'issuers'>;

/**
 * The HTTP interface over its services (docs/http-api.md), and its page. It holds no state, so any number of replicas may run.
 * @param isServed the operations that are served. Absent: all
 */
export async function createApp(
  config: AppConfig,
  services: Services,
  log: FastifyBaseLogger,
  isServed: (name: OperationName) => boolean = () => true,
): Promise<App> {
  const app = bareApp(config, log);
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.decorateRequest('caller', null);
  app.addHook('onRoute', ({ url, config }) => {
    if (!url.startsWith('/v1/') || config?.isOpen === true || config?.verb !== undefined) return;
    throw new TypeError(`${url}: the route does not say what its call is to the access table (contract/operations.ts)`);
  });
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'jobctl',
        version: VERSION,
        description: 'Submits, watches and changes jobs on Cloud TPUs. Times are milliseconds since 1970.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          idToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An OpenID Connect ID token.' },
        },
      },
      security: [{ idToken: [] }],
    },
    transform: (route) => {
      const { schema, url } = jsonSchemaTransform(route);
      return { schema: { operationId: operationIdOf(route.route.method, route.url), ...schema }, url };
    },
    transformObject: jsonSchemaTransformObject,
  });
  refuseSlowBodies(app);
  app.addHook('onRequest', hostGuard(config));
  app.addHook('onRequest', refuseClearText(config));
  app.addHook('onRequest', async (request, reply) => {
    void reply
      .header('x-request-id', request.id)
      .header('cache-control', 'no-store')
      .header('x-content-type-options', 'nosniff');
    // It shows the OpenAPI document, which is open too.
    const isDocument = request.routeOptions.url?.startsWith(DOCUMENT) === true;
    if (request.is404 || isDocument || request.routeOptions.config.isOpen === true) return;
    try {
      request.caller = await callerOf(request, services);
    } catch (error) {
      const isRefusal = error instanceof ApiError && (error.code === 'unauthenticated' || error.code === 'forbidden');
      throw isRefusal ? await refusedLogin(request, error) : error;
    }
  });
  app.addHook('preValidation', refuseLargeBody);
  await app.register(rateLimit, {
    hook: 'preHandler',
    max: config.limits.requestsPerMinute,
    timeWindow: 60_000,
    keyGenerator: (request) => request.caller?.id ?? networkOf(request.ip),
    allowList: ({ routeOptions: { config: route } }) => route.isOpen === true && route.rateLimit === undefined,
    errorResponseBuilder: (_request, { after, max, ttl }) =>
      new TooManyRequests(
        `more than ${max} calls in a minute`,
        `wait ${after}; the header Retry-After says it in seconds`,
        ttl,
      ),
  });
  takeTurns(app);
  tagAnswers(app);
  const refusedLogin = refusedLogins(app, config);
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    services.metrics.answered(request.method, route, reply.statusCode, reply.elapsedTime / 1_000);
    request.log.info(
      {
        requestId: request.id,
        subject: request.caller?.id,
        method: request.method,
        route,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'answered',
    );
  });
  app.setErrorHandler<FastifyError>(async (error, request, reply) => {
    const failure = await recorded(failureOf(error, request), request, services);
    const problem = problemOf(failure, request.id, statusFor(error, failure));
    if (failure instanceof TooManyRequests) void reply.header('retry-after', failure.retryAfter);
    return reply.status(problem.status).type('application/problem+json').serializer(JSON.stringify).send(problem);
  });
  app.setNotFoundHandler((request, reply) => {
    const problem = problemOf(
      new ApiError('not-found', `no ${request.method} ${request.url.split('?')[0]}`, 'GET /openapi.json lists all'),
      request.id,
    );
    return reply.status(404).type('application/problem+json').serializer(JSON.stringify).send(problem);
  });
  registerSystem(app, services, config);
  app.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload));
  registerPage(app);
  const serve = servedBy(app, services.gate, isServed);
  const areas = [
    ...[
      registerWho,
      registerJobs,
      registerBoard,
      registerGroups,
      registerSchedules,
      registerJobChanges,
      registerLogs,
      registerObjects,
      registerUploads,
      registerPools,
    ],
  ];
  for (const register of areas) register(serve, services, config);
  await app.register(swaggerUi, { routePrefix: DOCUMENT, staticCSP: true, transformStaticCSP: (header) => header });
  return app;
}

/** The operation's id: `POST /v1/jobs/:id/cancel` is `postJobsCancel`. */
function operationIdOf(method: string | readonly string[], url: string): string {
  const words = url.split(/[/:-]/).filter((word) => word !== '' && word !== 'v1' && word !== 'id' && word !== 'pool');
  return [String(method).toLowerCase(), ...words.map((word) => word[0]?.toUpperCase() + word.slice(1))].join('');
}

/** @throws ApiError `unauthenticated`, which never contains the token */
async function callerOf({ headers }: FastifyRequest, { verifier }: Services): Promise<Caller> {
  const { authorization } = headers;
  if (authorization === undefined)
    throw new ApiError(
      'unauthenticated',
      'the call has no Authorization header',
      'log in: jobctl login; or send `Authorization: Bearer ID_TOKEN`',
    );
  const [, token] = /^Bearer ([\w-]+\.[\w-]+\.[\w-]*)$/i.exec(authorization) ?? [];
  if (token === undefined)
    throw new ApiError(
      'unauthenticated',
      'the Authorization header is no `Bearer TOKEN` with a JWT',
      'log in: jobctl login',
    );
  return verifier.verify(token);
}

/** Records a refusal that no route has recorded, before it is answered. If recording fails, the caller gets that failure. */
async function recorded(failure: ApiError, request: FastifyRequest, { gate }: Services): Promise<ApiError> {
  const { caller, params, routeOptions } = request;
  const { verb } = routeOptions.config;
  if (failure.code !== 'forbidden' || caller === null || verb === undefined) return failure;
  if (!gate.isUnrecorded(failure)) return failure;
  // A query without a schema is unchecked: its pool could be one that no operator audits.
  const query = routeOptions.schema?.querystring === undefined ? {} : (request.query as object);
  const known: Record<string, string | undefined> = { ...query, ...(params as object) };
  const { id, pool = 'default', project } = known;
  const object = { pool, ...(id === undefined ? {} : { job: id }), ...(project === undefined ? {} : { project }) };
  return gate.refuse(callOf(request), verb, object, failure).catch((error: FastifyError) => failureOf(error, request));
}

function failureOf(error: FastifyError, request: FastifyRequest): ApiError {
  const known = apiErrorOf(error);
  if (known !== undefined) return known;
  if (hasZodFastifySchemaValidationErrors(error)) {
    const places = error.validation.map(
      ({ instancePath, message }) => `${error.validationContext ?? 'body'}${instancePath}: ${message ?? 'is wrong'}`,
    );
    return new ApiError('invalid', places.join('\n'), 'GET /openapi.json has the form of each call');
  }
  if (error.statusCode === 413)
    return new ApiError(
      'too-large',
      `the body is larger than ${request.routeOptions.bodyLimit ?? 'allowed'} bytes`,
      'upload files first: POST /v1/uploads',
    );
  if (error.statusCode !== undefined && error.statusCode < 500 && !isResponseSerializationError(error))
    return new ApiError('invalid', error.message);
  request.log.error({ requestId: request.id, err: error }, 'a fault of the server');
  return new ApiError(
    'internal',
    'the server failed at this call',
    `its log has the reason under request id ${request.id}`,
  );
}

/** HTTP status of a refusal, if Fastify has one: for a body that is not JSON, or of another type. */
function statusFor(error: FastifyError, { code }: ApiError): number | undefined {
  if (code !== 'invalid' || apiErrorOf(error) !== undefined) return undefined;
  if (hasZodFastifySchemaValidationErrors(error)) return 400;
  return error.statusCode;
}

import type { IncomingHttpHeaders } from 'node:http';
import { callHeaders } from '../access/access-control.js';
import type { StoreRights } from './authorization.js';
import { asStoreError, empty, json, refused } from './answers.js';
import type { StoreAnswer, StoreCall, StoreParts } from './call.js';
import type { StoreMethodName } from './calls.js';
import { STORE_METHODS } from './calls.js';
import { selectFields } from './partial-response.js';
import { RequestBody, unpackedBody } from './request-body.js';
import type { Route } from './routes.js';
import { routeOf } from './routes.js';
import { checkSignedUrl, isSigned } from './signed-url.js';
import type { SigningKey } from './signing-key.js';
import { StoreError, storeErrors } from './store-error.js';
import { readUploadHead, uploadedName } from './upload-calls.js';
import { xmlError } from './xml-answers.js';
import { resourceOfHeaders, XML_METHODS } from './xml-calls.js';

/** A request from the wire, or one part of a batch. */
export interface StoreRequest {
  readonly verb: string;
  /** Path as sent: percent-encoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Whether a process of the rehearsal's own login makes the request. */
  readonly isOwnLogin: () => boolean;
  readonly content: AsyncIterable<Uint8Array>;
  /** Scheme and authority that the client used. */
  readonly origin: string;
}

export interface StoreHooks {
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
  /** The refusal of a call, before or after its effect; undefined if the call goes through. */
  readonly refusal: (
    method: StoreMethodName,
    name: string,
  ) => { readonly error: StoreError; readonly afterEffect: boolean } | undefined;
  readonly rights: StoreRights;
  /** Time for buckets and objects, epoch ms of the cloud's clock. Absent: this computer's. */
  readonly now?: () => number;
}

/** Path of the key that signs URLs. Google has no such path. */
const KEY_PATH = '/_rehearsal/service-account-key';

/** The calls of Cloud Storage, over any transport. */
export class StoreService {
  readonly #parts: StoreParts;
  readonly #hooks: StoreHooks;
  readonly #key: SigningKey;

  constructor(parts: StoreParts, hooks: StoreHooks, key: SigningKey) {
    this.#parts = parts;
    this.#hooks = hooks;
    this.#key = key;
  }

  /** Never rejects: a refusal is an answer too. */
  async answer(request: StoreRequest): Promise<StoreAnswer> {
    let route: Route | undefined;
    try {
      if (request.path === KEY_PATH && request.verb === 'GET') return await this.#keyAnswer(request);
      route = routeOf(request.verb, request.path, request.query);
      if (route === undefined) throw storeErrors.notServed(`${request.verb} ${request.path}`);
      return await this.#recorded(request, route);
    } catch (error) {
      return errorAnswer(error, route?.api ?? 'json', request);
    }
  }

  async #recorded(request: StoreRequest, route: Route): Promise<StoreAnswer> {
    const { method } = route;
    const body = new RequestBody(
      isPacked(request, route) ? unpackedBody(request.content) : request.content,
      request.headers['content-type'],
    );
    let call: StoreCall = { ...request, ...route, body };
    try {
      call = await withUpload(call, route);
      const answer = await this.#run(call, route, request);
      this.#record(call, { method, code: 200, bytes: body.bytes });
      return answer;
    } catch (error) {
      const code = error instanceof StoreError ? error.httpStatus : 500;
      this.#record(call, { method, code, message: String(error) });
      throw error;
    }
  }

  #record(call: StoreCall, details: Readonly<Record<string, unknown>>): void {
    this.#hooks.record('store-call', subjectOf(call), details);
  }

  async #run(call: StoreCall, route: Route, request: StoreRequest): Promise<StoreAnswer> {
    const { method } = route;
    if (route.api === 'xml' && isSigned(call.query)) checkSignedUrl(request, this.#key.signer(), Date.now());
    else {
      const headers = callHeaders(call.headers, call.isOwnLogin);
      this.#hooks.rights.authorize({ method, headers, replaces: this.#replacesObject(call, method) });
    }
    const refusal = this.#hooks.refusal(method, subjectOf(call));
    if (refusal !== undefined && !refusal.afterEffect) throw refusal.error;
    const run = route.api === 'xml' ? XML_METHODS[route.operation] : STORE_METHODS[method];
    const answer = await run(this.#parts, call);
    if (refusal !== undefined) throw refusal.error;
    return withFields(answer, call.query);
  }

  /** Whether the call writes to a name that is taken. A call that requires a free name fails for that, not for rights. */
  #replacesObject(call: StoreCall, method: StoreMethodName): boolean {
    const written = call.destination ?? (/^objects\.(?:insert|compose)$/.test(method) ? call : undefined);
    if (written === undefined || call.query.get('ifGenerationMatch') === '0') return false;
    return this.#parts.buckets.find(written.bucket)?.objects.find(written.object) !== undefined;
  }

  async #keyAnswer({ headers, isOwnLogin }: StoreRequest): Promise<StoreAnswer> {
    const permission = 'iam.serviceAccountKeys.create';
    const isAllowed = this.#hooks.rights.granted(callHeaders(headers, isOwnLogin), [permission]).length > 0;
    if (!isAllowed) throw storeErrors.denied('The caller', permission, 'service account');
    return json(await this.#key.keyFile());
  }
}

/** Whether the body is compressed for transport. In an upload of the content alone, the header describes the object. */
function isPacked({ headers, query }: StoreRequest, { method, api }: Route): boolean {
  const isWhole = method === 'objects.insert' && query.get('uploadType') === 'multipart';
  return api === 'json' && (isWhole || method === 'objects.insert.resume') && headers['content-encoding'] === 'gzip';
}

function subjectOf({ bucket, object }: StoreCall): string {
  return `${bucket}/${object}`;
}

/** Reads an upload's head, which tells who may write the object and which refusals apply. */
async function withUpload(call: StoreCall, route: Route): Promise<StoreCall> {
  if (route.method !== 'objects.insert') return call;
  if (route.api === 'xml')
    return { ...call, upload: { resource: resourceOfHeaders(call), content: call.body.stream() } };
  const upload = await readUploadHead(call);
  return { ...call, object: uploadedName(call.query, upload.resource), upload };
}

function withFields(answer: StoreAnswer, query: URLSearchParams): StoreAnswer {
  const fields = query.get('fields') ?? '';
  if (answer.kind !== 'json' || fields === '') return answer;
  return { ...answer, json: selectFields(answer.json, fields) };
}

function errorAnswer(error: unknown, api: 'json' | 'xml', { query }: StoreRequest): StoreAnswer {
  const refusal = asStoreError(error);
  if (refusal.httpStatus === 304) return empty(304);
  if (api === 'json' && query.get('alt') === 'media') return mediaError(refusal);
  return api === 'xml' ? xmlError(refusal) : refused(refusal);
}

/** A caller that asks for bytes gets the error as bytes. */
function mediaError({ httpStatus: status, message }: StoreError): StoreAnswer {
  return {
    kind: 'bytes',
    status,
    headers: { 'content-type': 'text/html; charset=UTF-8' },
    content: Buffer.from(message),
  };
}

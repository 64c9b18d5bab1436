import { qualified, type Resource } from './resources.js';

interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly { readonly reason?: string; readonly message: string; readonly field?: string }[];
}

/** A refusal of the API server, with the texts of Kubernetes 1.34. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal';
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    [this.code, this.reason, this.details] = [code, reason, details];
  }

  /** A Status, or the plain text for a path that the API server does not know. */
  get body(): object | string {
    if (this.code === 404 && this.reason === '') return this.message;
    const { code, reason, message, details } = this;
    return { ...STATUS, status: 'Failure', message, reason, ...(details && { details }), code };
  }
}

const STATUS = { kind: 'Status', apiVersion: 'v1', metadata: {} } as const;

/** Answer to a deletion that is done at once. */
export const success = (resource: Resource, name: string, uid: string): object => ({
  ...STATUS,
  status: 'Success',
  details: { ...detailsOf(resource, name), uid },
});

export const successWithCode = (code: number): object => ({ ...STATUS, status: 'Success', code });

const detailsOf = ({ group, plural }: Resource, name: string): StatusDetails => ({
  ...(name !== '' && { name }),
  ...(group !== '' && { group }),
  kind: plural,
});

const told =
  (code: number, reason: string, words: (what: string, more: string) => string) =>
  (resource: Resource, name: string, more = ''): ApiRefusal =>
    new ApiRefusal(code, reason, words(`${qualified(resource)} "${name}"`, more), detailsOf(resource, name));

export const refusals = {
  notFound: told(404, 'NotFound', (what) => `${what} not found`),
  alreadyExists: told(409, 'AlreadyExists', (what) => `${what} already exists`),
  conflict: told(409, 'Conflict', (what, why) => `Operation cannot be fulfilled on ${what}: ${why}`),
  forbidden: told(403, 'Forbidden', (what, why) => `${what} is forbidden: ${why}`),
  badRequest: (message: string) => new ApiRefusal(400, 'BadRequest', message),
  unauthorized: () => new ApiRefusal(401, 'Unauthorized', 'Unauthorized'),
  noSuchResource: () => new ApiRefusal(404, '', '404 page not found\n'),
  notAllowed: () =>
    new ApiRefusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {}),
  mediaType: (type: string, wanted: string) =>
    new ApiRefusal(
      415,
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: ${wanted} (got ${type})`,
    ),
  expired: (message: string) => new ApiRefusal(410, 'Expired', message),
  /** @param problems such as `spec.completions: Invalid value: -1: must be greater than or equal to 0` */
  invalid({ kind, group }: Pick<Resource, 'kind' | 'group'>, name: string, problems: readonly string[]): ApiRefusal {
    const qualifiedKind = group === '' ? kind : `${kind}.${group}`;
    const text = problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`;
    const causes = problems.map((problem) => {
      const [field = '', ...rest] = problem.split(': ');
      return { message: rest.join(': '), field };
    });
    const details = { name, ...(group !== '' && { group }), kind, causes };
    return new ApiRefusal(422, 'Invalid', `${qualifiedKind} "${name}" is invalid: ${text}`, details);
  },
};

/** A refused call in the form of the JSON API: `{error: {code, message, errors: [{reason}]}}`. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly httpStatus: number;
  readonly reason: string;

  constructor(httpStatus: number, reason: string, message: string) {
    super(message);
    this.httpStatus = httpStatus;
    this.reason = reason;
  }

  toJSON(): object {
    const { httpStatus: code, message, reason } = this;
    const place = code === 401 ? { locationType: 'header', location: 'Authorization' } : {};
    return { error: { code, message, errors: [{ message, domain: 'global', reason, ...place }] } };
  }
}

const deniedText = (who: string, permission: string, noun: string): string =>
  `${who} does not have ${permission} access to the ${noun}. ` +
  `Permission '${permission}' denied on resource (or it may not exist).`;

export const storeErrors = {
  noBucket: () => new StoreError(404, 'notFound', 'The specified bucket does not exist.'),
  noObject: (bucket: string, name: string) => new StoreError(404, 'notFound', `No such object: ${bucket}/${name}`),
  bucketTaken: (name: string) =>
    new StoreError(
      409,
      'conflict',
      `Your previous request to create the named bucket '${name}' succeeded and you already own it.`,
    ),
  bucketNotEmpty: () => new StoreError(409, 'conflict', 'The bucket you tried to delete is not empty.'),
  preconditionFailed: () =>
    new StoreError(412, 'conditionNotMet', 'At least one of the pre-conditions you specified did not hold.'),
  notModified: () => new StoreError(304, 'notModified', 'Not Modified'),
  badRange: (range: string) =>
    new StoreError(416, 'requestedRangeNotSatisfiable', `Request range not satisfiable: ${range}`),
  badToken: () => new StoreError(401, 'authError', 'Invalid Credentials'),
  anonymous: (permission: string, noun: string) =>
    new StoreError(401, 'required', deniedText('Anonymous caller', permission, noun)),
  outOfScope: () => new StoreError(403, 'forbidden', 'Provided scope(s) are not authorized'),
  denied: (who: string, permission: string, noun: string) =>
    new StoreError(403, 'forbidden', deniedText(who, permission, noun)),
  invalid: (message: string) => new StoreError(400, 'invalid', message),
  notServed: (what: string) => new StoreError(501, 'notImplemented', `${what} is not served by the rehearsal cloud`),
};

/** A refused call in the form of the JSON API: `{error: {code, message, errors: [{reason}]}}`. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly httpStatus: number;
  readonly reason: string;
  /** The error's code in the XML API. */
  readonly xmlCode: string;

  constructor(httpStatus: number, reason: string, message: string, xmlCode?: string) {
    super(message);
    this.httpStatus = httpStatus;
    this.reason = reason;
    this.xmlCode = xmlCode ?? XML_CODES[httpStatus] ?? 'InternalError';
  }

  toJSON(): object {
    const { httpStatus: code, message, reason } = this;
    return { error: { code, message, errors: [{ message, domain: 'global', reason, ...placeOf(code) }] } };
  }
}

/** cloud.google.com/storage/docs/xml-api/reference-status, 2026-11. */
const XML_CODES: Readonly<Record<number, string>> = {
  400: 'InvalidArgument',
  401: 'AuthenticationRequired',
  403: 'AccessDenied',
  404: 'NoSuchUpload',
  409: 'BucketNotEmpty',
  412: 'PreconditionFailed',
  413: 'EntityTooLarge',
  416: 'InvalidRange',
  501: 'NotImplemented',
  503: 'ServiceUnavailable',
};

/** The part of the request to blame, if Google names it. */
function placeOf(code: number): object {
  if (code === 401) return { locationType: 'header', location: 'Authorization' };
  return code === 412 ? { locationType: 'header', location: 'If-Match' } : {};
}

const deniedText = (who: string, permission: string, noun: string): string =>
  `${who} does not have ${permission} access to the ${noun}. ` +
  `Permission '${permission}' denied on resource (or it may not exist).`;

const invalid = (message: string): StoreError => new StoreError(400, 'invalid', message);

export const storeErrors = {
  noBucket: () => new StoreError(404, 'notFound', 'The specified bucket does not exist.', 'NoSuchBucket'),
  noObject: (bucket: string, name: string) =>
    new StoreError(404, 'notFound', `No such object: ${bucket}/${name}`, 'NoSuchKey'),
  noUpload: () => new StoreError(404, 'notFound', 'Not Found'),
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
  /** Text from field reports (lakeFS issue 1339, sitespeed.io issue 2749). @param until epoch ms */
  retained: (bucket: string, name: string, until: number) =>
    new StoreError(
      403,
      'forbidden',
      `Object '${bucket}/${name}' is subject to bucket's retention policy and cannot be deleted, overwritten or archived until ${new Date(until).toISOString()}`,
    ),
  invalid,
  invalidValue: (parameter: string, value: string) => invalid(`Invalid value '${value}' for parameter: ${parameter}`),
  invalidParameter: (message: string) => new StoreError(400, 'invalidParameter', message),
  parseError: () => new StoreError(400, 'parseError', 'Parse Error'),
  notJson: (type: string) =>
    new StoreError(
      400,
      'parseError',
      `This API does not support content of type '${type}': JSON comes as application/json`,
    ),
  required: (parameter: string) => new StoreError(400, 'required', `Required parameter: ${parameter}`),
  wrongUploadUrl: () =>
    new StoreError(
      400,
      'wrongUrlForUpload',
      'Upload requests must include an uploadType URL parameter and a URL path beginning with /upload/',
    ),
  nameTooLong: (bytes: number) =>
    invalid(`The maximum object length is 1024 characters, but got a name with ${bytes} characters.`),
  tooManySources: (count: number, most: number) =>
    invalid(`The number of source components provided (${count}) exceeds the maximum (${most})`),
  flatNamespace: () =>
    new StoreError(409, 'conflict', 'The bucket does not support hierarchical namespace.', 'BucketNotHierarchical'),
  invalidPart: (number: number) =>
    new StoreError(400, 'invalid', `Part ${number} was not uploaded, or has another ETag.`, 'InvalidPart'),
  malformedXml: () => new StoreError(400, 'invalid', 'The XML you provided was not well-formed.', 'MalformedXML'),
  wrongSignature: (why: string) => new StoreError(403, 'forbidden', `Access denied. ${why}`, 'SignatureDoesNotMatch'),
  expiredSignature: (at: string) =>
    new StoreError(400, 'invalid', `Invalid argument. Request signature expired at: ${at}`, 'ExpiredToken'),
  gap: (offset: number, size: number) =>
    invalid(
      `Invalid request.  According to the Content-Range header, the upload offset is ${offset} byte(s), ` +
        `which exceeds already uploaded size of ${size} byte(s).`,
    ),
  smallChunk: (bytes: number) =>
    invalid(
      'Invalid request.  The number of bytes uploaded is required to be equal or greater than 262144, ' +
        "except for the final request (it's recommended to be the exact multiple of 262144).  " +
        `The received request contained ${bytes} bytes, which does not meet this requirement.`,
    ),
  tooMuch: (size: number, total: number) =>
    invalid(`Invalid request.  ${size} byte(s) were uploaded, Content-Range says ${total} in all.`),
  tooLarge: (limit: number) =>
    new StoreError(413, 'uploadTooLarge', `The request's metadata is larger than ${limit} bytes`),
  notServed: (what: string) => new StoreError(501, 'notImplemented', `${what} is not served by the rehearsal cloud`),
};

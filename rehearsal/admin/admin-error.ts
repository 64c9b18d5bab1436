import type { z } from 'zod';

/** An admin call that cannot be done; the message says what to do. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
  readonly httpStatus: number;

  constructor(httpStatus: number, message: string) {
    super(message);
    this.httpStatus = httpStatus;
  }
}

/** @throws AdminError that names each wrong field */
export function parse<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw wrongBody(result.error);
}

export function wrongBody(error: z.ZodError): AdminError {
  const problems = error.issues.map((issue) => {
    // A key's problems are one level deeper.
    const reasons = issue.code === 'invalid_key' ? issue.issues.map((inner) => inner.message) : [issue.message];
    return [issue.path.join('.'), ...reasons].filter(Boolean).join(': ');
  });
  return new AdminError(400, problems.join('; '));
}

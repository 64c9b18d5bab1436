import type { z } from 'zod';

/** A call of the admin interface that cannot be done, and what to do. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
  readonly httpStatus: number;

  constructor(httpStatus: number, message: string) {
    super(message);
    this.httpStatus = httpStatus;
  }
}

/** Throws AdminError that names each field that is wrong. */
export function parse<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw wrongBody(result.error);
}

export function wrongBody(error: z.ZodError): AdminError {
  const problems = error.issues.map((issue) => {
    // What is wrong with a key is a level deeper.
    const reasons = issue.code === 'invalid_key' ? issue.issues.map((inner) => inner.message) : [issue.message];
    return [issue.path.join('.'), ...reasons].filter(Boolean).join(': ');
  });
  return new AdminError(400, problems.join('; '));
}

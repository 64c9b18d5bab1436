import type { z } from 'zod';
import type { auditLinesSchema, explainedSchema } from '../../contract/api/callers.js';
import { ServerCalls } from './server-calls.js';
import type { ServerOptions } from './server-options.js';

type Explained = z.infer<typeof explainedSchema>['rows'];

/** The caller's rights by the access table, with the reason for each refusal. @param about absent fields: the caller's own */
export async function accessRows(
  options: ServerOptions,
  about: { readonly job?: string; readonly project?: string; readonly verb?: string; readonly pool?: string },
): Promise<Explained> {
  const { rows } = await new ServerCalls(options).json<z.infer<typeof explainedSchema>>({
    path: 'v1/access/explain',
    query: { ...about },
  });
  return rows;
}

export interface AuditWish {
  readonly user?: string;
  readonly job?: string;
  /** Milliseconds since 1970. Absent: a day ago. */
  readonly since?: number;
  readonly limit?: number;
  readonly pool?: string;
}

/** Lines of the audit log, newest last, and the time from which on it was read if not all was; for operators. */
export const auditLines = (options: ServerOptions, wish: AuditWish): Promise<z.infer<typeof auditLinesSchema>> =>
  new ServerCalls(options).json({ path: 'v1/audit', query: { ...wish } });

import type { z } from 'zod';
import type { secretNamesSchema } from '../../contract/api/callers.js';
import { ServerCalls } from './server-calls.js';
import type { ServerOptions } from './server-options.js';

type SecretNames = z.infer<typeof secretNamesSchema>['secrets'];

/** Names and fingerprints of the secrets that the caller's jobs may use in a project. @param project absent: the caller's own */
export async function secretNames(options: ServerOptions, project?: string): Promise<SecretNames> {
  const { secrets } = await new ServerCalls(options).json<z.infer<typeof secretNamesSchema>>({
    path: 'v1/secrets',
    query: { project },
  });
  return secrets;
}

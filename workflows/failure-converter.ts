import { DefaultFailureConverter } from '@temporalio/common';

/**
 * For workers whose payload codec encrypts: the message and stack of a failure go into its payload, so that the codec encrypts
 * them too. Loaded by path, into the workflow bundle and by the worker itself (docs/adr/0009).
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });

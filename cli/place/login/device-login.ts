import type { TokenEndpointResponse } from 'openid-client';
import { NotLoggedIn } from '../../../client/errors.js';
import { type OpenedIssuer, wordsOf } from './issuer-client.js';

interface DeviceWish {
  readonly scopes: readonly string[];
  readonly signal: AbortSignal;
  /** Shows the address, and the code to enter there. */
  readonly show: (url: string, code: string) => void;
}

export const hasDeviceLogin = ({ config }: OpenedIssuer): boolean =>
  config.serverMetadata().device_authorization_endpoint !== undefined;

/** Logs in a device without a browser (RFC 8628): the user enters a code in the browser of another device. @throws NotLoggedIn */
export async function deviceLogin(
  { oidc, config }: OpenedIssuer,
  { scopes, signal, show }: DeviceWish,
): Promise<TokenEndpointResponse> {
  const { issuer } = config.serverMetadata();
  try {
    const begun = await oidc.initiateDeviceAuthorization(config, { scope: scopes.join(' ') });
    show(begun.verification_uri, begun.user_code);
    return await oidc.pollDeviceAuthorizationGrant(config, begun, undefined, { signal });
  } catch (error) {
    if (signal.aborted) throw new NotLoggedIn('nobody logged in at the issuer: nothing was changed');
    throw new NotLoggedIn(`${issuer} gave no login: ${wordsOf(error)}`);
  }
}

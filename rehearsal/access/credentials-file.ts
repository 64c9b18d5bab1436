import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolderSync } from '../folders.js';
import { refreshTokenOf } from './token-service.js';

/**
 * Writes application-default credentials of the current principal, for GOOGLE_APPLICATION_CREDENTIALS. Their type is
 * `external_account_authorized_user`, a login through another company's accounts. No other type of a person's login may name its
 * token URL (google-auth-library 9.15; `authorized_user` always asks oauth2.googleapis.com).
 * @param tokenService URL without a trailing slash
 * @param key signs tokens
 */
export function writeCredentialsFile(file: string, tokenService: string, key: string): void {
  const content = {
    type: 'external_account_authorized_user',
    audience: '//iam.googleapis.com/locations/global/workforcePools/rehearsal/providers/rehearsal',
    client_id: 'rehearsal',
    client_secret: 'rehearsal',
    refresh_token: refreshTokenOf('current', key),
    token_url: `${tokenService}/v1/oauthtoken`,
    token_info_url: `${tokenService}/tokeninfo`,
  };
  makeFolderSync(dirname(file));
  writeFileSync(file, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
}

import { createHmac } from 'node:crypto';
import { isEqual } from './equal-text.js';

/** Content of an access token. Tokens are signed, not stored: they outlive a restart, as Google's do. */
export interface TokenContent {
  readonly email: string;
  /** Serial number, counted from 1. */
  readonly serial: number;
  /** When the token expires, epoch ms. */
  readonly until: number;
}

const PREFIX = 'ya29.rehearsal';

export function signToken(key: string, content: TokenContent): string {
  const body = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `${PREFIX}.${body}.${signature(key, body)}`;
}

/** Undefined for any text that this key did not sign. */
export function readToken(key: string, token: string): TokenContent | undefined {
  const [prefix, name, body = '', signed = '', ...rest] = token.split('.');
  if (`${prefix}.${name}` !== PREFIX || rest.length > 0) return undefined;
  if (!isEqual(signed, signature(key, body))) return undefined;
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as TokenContent;
}

function signature(key: string, body: string): string {
  return createHmac('sha256', key).update(body).digest('base64url');
}

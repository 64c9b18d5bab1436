import ssh2 from 'ssh2';
import type { ParsedKey, PublicKeyAuthContext } from 'ssh2';

/** One line of the instance metadata item `ssh-keys`: `user:ssh-ed25519 AAAA.. comment`. */
export interface AuthorizedKey {
  readonly user: string;
  readonly key: ParsedKey;
}

/** Reads the item as Google's guest agent does: lines that make no sense are passed over. */
export function parseAuthorizedKeys(item: string): readonly AuthorizedKey[] {
  return item.split('\n').flatMap((line) => {
    const colon = line.indexOf(':');
    const user = line.slice(0, colon).trim();
    if (!/^[a-z_][a-z0-9_.-]*$/i.test(user)) return [];
    const key = parsePublicKey(line.slice(colon + 1).trim());
    return key === undefined ? [] : [{ user, key }];
  });
}

/** True if the user may log in with the key it offers. Without a signature the client only asks whether to try. */
export function isAuthorized(keys: readonly AuthorizedKey[], context: PublicKeyAuthContext): boolean {
  return keys.some(({ user, key }) => {
    if (user !== context.username || !key.getPublicSSH().equals(context.key.data)) return false;
    if (context.signature === undefined || context.blob === undefined) return true;
    return key.verify(context.blob, context.signature, context.hashAlgo);
  });
}

function parsePublicKey(text: string): ParsedKey | undefined {
  try {
    const parsed = ssh2.utils.parseKey(text);
    return parsed instanceof Error ? undefined : parsed;
  } catch {
    return undefined;
  }
}

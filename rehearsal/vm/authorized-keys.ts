import ssh2 from 'ssh2';
import type { ParsedKey, PublicKeyAuthContext } from 'ssh2';

/** One line of the metadata item `ssh-keys`: `user:ssh-ed25519 AAAA.. comment`. */
export interface AuthorizedKey {
  readonly user: string;
  readonly key: ParsedKey;
  /** Epoch ms; undefined: never. */
  readonly expiresAt: number | undefined;
}

/** Metadata of a node and of its project, by item. */
export interface KeyMetadata {
  readonly node: Readonly<Record<string, string>>;
  readonly project: Readonly<Record<string, string>>;
}

/** Lines of the users who may log in: the node's `ssh-keys` and, unless it has `block-project-ssh-keys`, the project's. */
export function keyLines({ node, project }: KeyMetadata): string {
  const isBlocked = /^(true|yes|y|1)$/i.test(node['block-project-ssh-keys'] ?? '');
  return [node, ...(isBlocked ? [] : [project])].map((items) => items['ssh-keys'] ?? '').join('\n');
}

/** Parses the item as Google's guest agent does: invalid lines are skipped. */
export function parseAuthorizedKeys(item: string): readonly AuthorizedKey[] {
  return item.split('\n').flatMap((line) => {
    const colon = line.indexOf(':');
    const user = line.slice(0, colon).trim();
    if (!/^[a-z_][a-z0-9_.-]*$/i.test(user)) return [];
    const text = line.slice(colon + 1).trim();
    const key = parsePublicKey(text);
    return key === undefined ? [] : [{ user, key, expiresAt: expiryOf(text) }];
  });
}

/**
 * True if the user may log in with the offered key. Without a signature the client only asks whether it should try.
 * @param now epoch ms
 */
export function isAuthorized(keys: readonly AuthorizedKey[], context: PublicKeyAuthContext, now: number): boolean {
  return keys.some(({ user, key, expiresAt }) => {
    if (user !== context.username || (expiresAt !== undefined && expiresAt <= now)) return false;
    if (!key.getPublicSSH().equals(context.key.data)) return false;
    if (context.signature === undefined || context.blob === undefined) return true;
    return key.verify(context.blob, context.signature, context.hashAlgo);
  });
}

/**
 * Expiry of a key. gcloud ends a temporary key's line with `google-ssh {"userName":"..","expireOn":"2026-11-21T20:00:00+0000"}`.
 */
function expiryOf(text: string): number | undefined {
  const date = /google-ssh\s+\{.*"expireOn"\s*:\s*"([^"]+)"/.exec(text)?.[1];
  const time = Date.parse(date?.replace(/([+-]\d\d)(\d\d)$/, '$1:$2') ?? '');
  return Number.isNaN(time) ? undefined : time;
}

function parsePublicKey(text: string): ParsedKey | undefined {
  try {
    const parsed = ssh2.utils.parseKey(text.replace(/ google-ssh .*$/, ''));
    return parsed instanceof Error ? undefined : parsed;
  } catch {
    return undefined;
  }
}

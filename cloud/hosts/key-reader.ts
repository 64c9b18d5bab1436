/** What a text is, of a user who says it is a private key. No member ever holds the key. */
export type PrivateKeyReading =
  | {
      readonly kind: 'key';
      /** OpenSSH line without a comment. */
      readonly publicKey: string;
      readonly fingerprint: string;
    }
  /** `a public key`, `a key with a passphrase`, .. */
  | { readonly kind: 'no-key'; readonly isMeantAsKey: boolean; readonly what: string };

/** What may be told of keys without showing one. */
export interface KeyReader {
  privateKey(text: string): PrivateKeyReading;
  /** Of an OpenSSH line; undefined for another text. */
  publicFingerprint(line: string): string | undefined;
}

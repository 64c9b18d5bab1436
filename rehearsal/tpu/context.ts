/** What the cloud needs from outside: time, and somebody to tell. With these given its behaviour is its calls' alone. */
export interface CloudContext {
  /** Epoch ms. */
  readonly now: () => number;
  /** The second octet of every host's address: 127.S.a.b. */
  readonly subnetOctet: number;
  /** Told after each event, in order. */
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
}

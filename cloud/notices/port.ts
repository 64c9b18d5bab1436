/** One event, worded for the people and programs that are told of it. */
export interface NoticeMessage {
  /** The same for each try and each target. */
  readonly id: string;
  /** `job.preempted` */
  readonly type: string;
  /** ISO 8601. */
  readonly timestamp: string;
  /** One line. */
  readonly title: string;
  /** Lines for people. */
  readonly lines: readonly string[];
  /** Facts for programs. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** A target with its secrets. Never logged, never in a history. */
export type Destination =
  /** `key`: `whsec_` and base64. */
  | { readonly kind: 'webhook'; readonly url: string; readonly key: string }
  /** The URL of an incoming webhook. */
  | { readonly kind: 'slack'; readonly url: string }
  | { readonly kind: 'mail'; readonly to: readonly string[] };

/** `never`: the target refuses it for good. No text holds a secret. */
export type Delivery =
  | { readonly kind: 'sent' }
  | { readonly kind: 'later'; readonly why: string; readonly afterMs?: number }
  | { readonly kind: 'never'; readonly why: string };

export interface NoticeSender {
  /** Absent: this installation sends no mail. */
  readonly sendsMail: boolean;
  /** One try, bounded in time. Does not throw. */
  send(to: Destination, message: NoticeMessage): Promise<Delivery>;
}

/** A channel of the operator: its kind, and how its secrets are read anew for each event. */
export type Channel =
  | { readonly kind: 'webhook'; readonly url: string; readonly key: () => Promise<string> }
  | { readonly kind: 'slack'; readonly url: () => Promise<string> }
  | { readonly kind: 'mail'; readonly to: readonly string[] };

/** The ways by which an installation tells people. */
export interface Outlets {
  readonly sender: NoticeSender;
  readonly channels: ReadonlyMap<string, Channel>;
}

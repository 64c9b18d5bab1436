import type { RefusalKind } from '../../cloud/google-refusal.js';

/** `warning`: it may work; or nobody could look, which is never `ok`. `failed`: a job would fail, or cost for nothing. */
export interface Finding {
  /** The subject of the check, in about two words. */
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  /** One line: the value that was found, or what is wrong. */
  readonly what: string;
  /** The remedy, with its command. */
  readonly remedy?: string;
}

/** A question to Google: its answer, or why there is none. */
export type Looked<T> = { readonly known: true; readonly value: T } | NotLooked;

export interface NotLooked {
  readonly known: false;
  readonly why: string;
  readonly remedy?: string;
  /** Set if credentials, rights, the project or an API are the cause. */
  readonly kind?: RefusalKind;
  readonly httpStatus?: number;
}

export const ok = (check: string, what: string): Finding => ({ check, state: 'ok', what });

export const warning = (check: string, what: string, remedy?: string): Finding => ({
  ...{ check, state: 'warning', what },
  ...(remedy === undefined ? {} : { remedy }),
});

export const failed = (check: string, what: string, remedy: string): Finding => ({
  ...{ check, state: 'failed', what, remedy },
});

export function couldNotLook(check: string, { why, remedy }: NotLooked): Finding {
  return warning(check, `could not look: ${why}`, remedy);
}

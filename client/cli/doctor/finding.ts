import type { RefusalKind } from '../../../cloud/google-refusal.js';

/** `warning`: it may work; or nobody could look, which is never `ok`. `failed`: a job would fail, or cost for nothing. */
export interface Finding {
  /** What was looked at, two words or so. */
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  /** One line: the value that was found, or what is wrong. */
  readonly what: string;
  /** What to do, with the command. */
  readonly remedy?: string;
}

/** A question to Google: its answer, or why there is none. */
export type Looked<T> = { readonly known: true; readonly value: T } | NotLooked;

export interface NotLooked {
  readonly known: false;
  readonly why: string;
  readonly remedy?: string;
  /** Where it is a matter of credentials, rights, project or API. */
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

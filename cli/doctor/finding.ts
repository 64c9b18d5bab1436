import type { RefusalKind } from '../../cloud/google-refusal.js';
import { renderTable } from '../terminal/render/columns.js';
import type { OutputFlag } from '../terminal/options.js';

/** One result. `warning`: it may work, or could not be checked. `failed`: a job would fail, or cost money for nothing. */
export interface Finding {
  /** The subject of the check, in about two words. */
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  /** One line: the value that was found, or what is wrong. */
  readonly what: string;
  /** The remedy, with its command. */
  readonly remedy?: string;
}

/** Google's answer to a question, or the reason why there is none. */
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

const MARKS: Readonly<Record<Finding['state'], string>> = { ok: 'ok', warning: 'warning', failed: 'FAILED' };

/** Renders one line per finding, its remedy on a line below it, and the count at the end. */
export function renderFindings(findings: readonly Finding[], terminalWidth?: number): readonly string[] {
  const rows = findings.flatMap(({ check, state, what, remedy }, index) => [
    [MARKS[state], check, what],
    // One command may fix several findings: it is printed below the last of them.
    ...(remedy === undefined || remedy === findings[index + 1]?.remedy ? [] : [['', '', `-> ${remedy}`]]),
  ]);
  return [...renderTable(rows, terminalWidth), '', tally(findings)];
}

function tally(findings: readonly Finding[]): string {
  const counts = (Object.keys(MARKS) as Finding['state'][]).map((state) => {
    const count = findings.filter((finding) => finding.state === state).length;
    return `${count} ${state === 'warning' && count !== 1 ? 'warnings' : MARKS[state]}`;
  });
  return counts.join(', ');
}

export interface DoctorFlags extends OutputFlag {
  readonly gcp?: true;
  /** Folder for recorded requests and answers; only with `gcp`. */
  readonly record?: string;
  readonly kubernetes?: true;
  /** A quota file to check, alone or with other checks. */
  readonly quota?: string;
  readonly machines?: true;
  /** The pool for `machines`. Absent: `default`. */
  readonly pool?: string;
  readonly server?: true;
  readonly kubeconfig?: string;
  readonly kubeContext?: string;
  readonly kubeNamespace?: string;
  readonly googleProject?: string;
  readonly zone?: readonly string[];
  readonly accelerator?: string;
  readonly bucket?: string;
  readonly systemBucket?: string;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly serviceAccount?: string;
  readonly externalIps: boolean;
  readonly storeEndpoint?: string;
  readonly googleApiEndpoint?: string;
}

export interface Diagnosis {
  /** Key and value that name the account in the JSON output. */
  readonly account: Readonly<Record<string, string>>;
  readonly findings: readonly Finding[];
}

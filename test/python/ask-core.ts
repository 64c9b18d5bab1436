import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const CORE = fileURLToPath(new URL('./core.py', import.meta.url));

export interface PythonKey {
  readonly isRequired: boolean;
  readonly kind: string;
  readonly words?: readonly string[];
}

export interface PythonRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly isRepeatable: boolean;
}

export interface CoreAnswer {
  readonly models: Readonly<Record<string, Readonly<Record<string, PythonKey>>>>;
  readonly codes: readonly string[];
  readonly decoded: Readonly<Record<string, readonly unknown[]>>;
  readonly requests: readonly PythonRequest[];
  readonly manifests: readonly unknown[];
  readonly pool: unknown;
  readonly imported: readonly string[];
}

export interface CoreQuestion {
  /** Requests to a job that `core.py` has no call for: the keys of the method's arguments, by its name. */
  readonly requests?: Readonly<Record<string, object>>;
  /** By the name of a Python class: answers to decode, and to encode again. */
  readonly decode?: Readonly<Record<string, readonly unknown[]>>;
  /** In base64. */
  readonly manifests?: readonly string[];
  /** A packed pool state. */
  readonly pool?: unknown;
}

/** The Python client's core, by the Python of this computer. It needs no package. */
export const askCore = (question: CoreQuestion): CoreAnswer =>
  JSON.parse(
    execFileSync('python3', ['-B', '-I', CORE], {
      input: JSON.stringify(question),
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    }),
  ) as CoreAnswer;

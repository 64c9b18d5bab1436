import { readFileSync } from 'node:fs';
import { endOfApiKey } from './api-keys.js';

const DAY_MS = 86_400_000;
const LOOK_MS = 10_000;
/** An API key that ends within this time causes one warning a day. */
const WARNED_MS = 14 * DAY_MS;

export interface ApiKeyFileOptions {
  /** Called with the new key if the file's content has changed. */
  readonly onChange?: (apiKey: string) => void;
  readonly warn: (text: string) => void;
}

/** An API key in a file that is read again while the process runs, so that a renewed key takes effect without a restart. */
export class ApiKeyFile {
  readonly #path: string;
  readonly #options: ApiKeyFileOptions;
  readonly #timer: NodeJS.Timeout;
  #current: string;
  #warnedAt = 0;

  private constructor(path: string, options: ApiKeyFileOptions) {
    this.#path = path;
    this.#options = options;
    this.#current = read(path);
    this.#warnOfEnd();
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** @throws Error from the file system */
  static follow(path: string, options: ApiKeyFileOptions): ApiKeyFile {
    return new ApiKeyFile(path, options);
  }

  get current(): string {
    return this.#current;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** If the file cannot be read for a moment, the known key stays in use. */
  #look(): void {
    try {
      const found = read(this.#path);
      if (found !== '' && found !== this.#current) {
        this.#current = found;
        this.#warnedAt = 0;
        this.#options.onChange?.(found);
      }
    } catch (error) {
      this.#warnDaily(`the API key cannot be read again: ${(error as Error).message}`);
    }
    this.#warnOfEnd();
  }

  #warnOfEnd(): void {
    const end = endOfApiKey(this.#current);
    if (end === undefined || end - Date.now() > WARNED_MS) return;
    this.#warnDaily(
      `the API key in ${this.#path} ends at ${new Date(end).toISOString()}: put a new one there (jobctl setup api-keys)`,
    );
  }

  #warnDaily(text: string): void {
    if (Date.now() - this.#warnedAt < DAY_MS) return;
    this.#warnedAt = Date.now();
    this.#options.warn(text);
  }
}

const read = (path: string): string => readFileSync(path, 'utf8').trim();

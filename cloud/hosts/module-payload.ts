import { shellQuote } from '../../domain/shell-quote.js';
import type { FileSource, ModuleFile, ModulePlan } from './port.js';

const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
const FINGERPRINT = /^[A-Za-z0-9._:-]+$/;

/** A module of one call; `isSent`: with its steps. Without them the host can only say whether it is to be made. */
export interface SentModule {
  readonly plan: ModulePlan;
  readonly isSent: boolean;
}

/**
 * What the runner's verb `modules` reads from stdin (runner/module.ts): the nonce of its answers, an index of lines, the
 * pieces that they point at. Checks of all modules always, steps of those that are sent.
 * @throws RangeError for a name, fingerprint or path that the form cannot carry.
 */
export async function modulesPayload(nonce: string, modules: readonly SentModule[]): Promise<readonly Buffer[]> {
  const payload = new Payload();
  const checks = Buffer.from(checkScript(modules.map(({ plan }) => plan)));
  payload.line(`checks ${checks.length}`);
  payload.piece(checks);
  for (const { plan, isSent } of modules) {
    checkNames(plan);
    payload.line(`module ${plan.name} ${plan.fingerprint} ${isSent ? 'sent' : 'absent'}`);
    if (isSent) await addSteps(payload, plan);
    payload.line('done');
  }
  return payload.parts(nonce);
}

async function addSteps(payload: Payload, plan: ModulePlan): Promise<void> {
  for (const step of plan.steps) {
    for (const file of step.files ?? []) await addFile(payload, plan, file);
    payload.line(`step ${payload.piece(Buffer.from(step.script))}`);
  }
}

async function addFile(payload: Payload, plan: ModulePlan, file: ModuleFile): Promise<void> {
  const mode = file.mode.toString(8);
  const path = checkedPath(plan, file.path);
  if (isCopied(file)) return payload.line(`copied ${mode} ${file.content.sha256} - ${path}`);
  payload.line(`file ${mode} ${payload.piece(await contentOf(file.content))} ${path}`);
}

/** Bytes up to which a file goes with the scripts. Larger ones are copied before, and go on after a cut. */
const LARGEST_INLINE = 256 * 1024;

export type CopiedFile = ModuleFile & { readonly content: FileSource };

/** Whether it is put on the host before the call, at `copiedPath`. */
export function isCopied(file: ModuleFile): file is CopiedFile {
  return !Buffer.isBuffer(file.content) && file.content.size > LARGEST_INLINE;
}

/** Under the login user's home; by content, so that what arrived once is not sent again. */
export const copiedPath = ({ sha256 }: FileSource): string => `.jobctl/files/${sha256}`;

/** Bytes of a module's scripts and files. */
export function sizeOf(plan: ModulePlan): number {
  const files = plan.steps.flatMap((step) => step.files ?? []);
  const scripts = plan.steps.reduce((sum, { script }) => sum + script.length, 0);
  return files.reduce((sum, { content }) => sum + (Buffer.isBuffer(content) ? content.length : content.size), scripts);
}

async function contentOf(content: Buffer | FileSource): Promise<Buffer> {
  if (Buffer.isBuffer(content)) return content;
  const chunks: Buffer[] = [];
  for await (const chunk of content.read(0)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/**
 * One program for the checks that are asked for by their places: `PLACE CODE` on descriptor 3 for each. Each in a subshell,
 * without that descriptor, so that none can end the others or speak for them.
 */
function checkScript(plans: readonly ModulePlan[]): string {
  const cases = plans.map(({ check }, place) => `${place}) check=${shellQuote(check)} ;;`);
  return `for place; do
case $place in
${cases.join('\n')}
esac
( exec 3>&-; eval "$check" )
echo "$place $?" >&3
done
`;
}

class Payload {
  readonly #lines: string[] = [];
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  line(text: string): void {
    this.#lines.push(`${text}\n`);
  }

  /** Where it lies: `OFFSET BYTES`. */
  piece(content: Buffer): string {
    const place = `${this.#bytes} ${content.length}`;
    this.#pieces.push(content);
    this.#bytes += content.length;
    return place;
  }

  parts(nonce: string): readonly Buffer[] {
    return [Buffer.from(`${nonce}\n${this.#lines.join('')}end ${this.#bytes}\n`), ...this.#pieces];
  }
}

function checkNames({ name, fingerprint }: ModulePlan): void {
  if (!NAME.test(name)) throw new RangeError(`module name '${name}': use letters, digits, '.', '_' and '-'`);
  if (FINGERPRINT.test(fingerprint)) return;
  throw new RangeError(
    `module '${name}': fingerprint '${fingerprint}' must be of letters, digits, '.', '_', ':' and '-'`,
  );
}

function checkedPath(plan: ModulePlan, path: string): string {
  if (
    path === '' ||
    path.startsWith('/') ||
    path.includes('\n') ||
    path.trim() !== path ||
    path.split('/').includes('..')
  ) {
    throw new RangeError(
      `module '${plan.name}': file path ${JSON.stringify(path)} must be relative to the home folder, without '..' and newlines`,
    );
  }
  return path;
}

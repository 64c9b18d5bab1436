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
 * What the runner's verb `modules` reads from stdin (runner/module.ts): the nonce of its answers with two lengths, the plan, the
 * files, `end`. The plan is a program of the runner's words: checks of all modules always, steps of those that are sent.
 * @throws RangeError for a name, fingerprint or path that the form cannot carry, and for a script with a NUL byte.
 */
export async function modulesPayload(nonce: string, modules: readonly SentModule[]): Promise<Buffer> {
  const pieces = new Pieces();
  const lines = modules.map(({ plan }, place) => `look ${place} ${identity(plan)}`);
  lines.push(`check ${shellQuote(checkScript(modules.map(({ plan }) => plan)))}`);
  for (const { plan, isSent } of modules) {
    const words = isSent ? [...(await stepWords(pieces, plan)), 'close_module'] : [':'];
    const then = `then ${words.join(' &&\n')} || return 0; fi`;
    lines.push(`if open_module ${identity(plan)} ${isSent ? 'sent' : 'absent'}; ${then}`);
  }
  const program = Buffer.from(`${lines.join('\n')}\n`);
  const head = Buffer.from(`${nonce} ${program.length} ${pieces.bytes}\n`);
  return Buffer.concat([head, program, ...pieces.all, Buffer.from('end\n')]);
}

async function stepWords(pieces: Pieces, plan: ModulePlan): Promise<readonly string[]> {
  const words: string[] = [];
  for (const step of plan.steps) {
    for (const file of step.files ?? []) words.push(await fileWord(pieces, plan, file));
    words.push(`run_step ${shellQuote(step.script)}`);
  }
  return words;
}

async function fileWord(pieces: Pieces, plan: ModulePlan, file: ModuleFile): Promise<string> {
  const mode = file.mode.toString(8);
  const path = shellQuote(checkedPath(plan, file.path));
  if (isCopied(file)) return `put_copied ${mode} ${file.content.sha256} ${path}`;
  return `put ${mode} ${pieces.add(await contentOf(file.content))} ${path}`;
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

/** The files that go along, one behind the other. */
class Pieces {
  readonly all: Buffer[] = [];
  bytes = 0;

  /** Where it lies: `OFFSET BYTES`. */
  add(content: Buffer): string {
    const place = `${this.bytes} ${content.length}`;
    this.all.push(content);
    this.bytes += content.length;
    return place;
  }
}

/** `NAME FINGERPRINT`, which need no quotes. */
function identity({ name, fingerprint }: ModulePlan): string {
  if (!NAME.test(name)) throw new RangeError(`module name '${name}': use letters, digits, '.', '_' and '-'`);
  if (FINGERPRINT.test(fingerprint)) return `${name} ${fingerprint}`;
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

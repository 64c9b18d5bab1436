import { shellQuote } from '../../domain/shell-quote.js';
import type { ModuleFile, ModulePlan } from '../../domain/modules/module.js';
import type { FileSource } from '../../domain/local-files.js';
import { wholeOf } from './remote-exec.js';
import { WrongInput } from '../../domain/errors.js';

const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
const FINGERPRINT = /^[A-Za-z0-9._:-]+$/;

/** A module of one call. `isSent`: its steps are included. Without them the host can only say whether the module must be made. */
export interface SentModule {
  readonly plan: ModulePlan;
  readonly isSent: boolean;
}

/**
 * A program that makes modules ready on a host, in the runner's words (runner/module.ts), which sh reads from stdin. It does
 * nothing before all of it has arrived, so a cut program has no effect. It contains the checks of all modules, and the steps of
 * those that are sent.
 * @param nonce part of the answers' frames
 * @throws WrongInput for a name, fingerprint or path that the form cannot carry, and for a script with a NUL byte
 */
export async function modulesProgram(nonce: string, modules: readonly SentModule[]): Promise<string> {
  const plan = modules.map(({ plan: { name, fingerprint } }, place) => `look ${place} ${identity(name, fingerprint)}`);
  plan.push(`check ${shellQuote(checkScript(modules.map((module) => module.plan)))}`);
  for (const { plan: module, isSent } of modules) {
    const words = isSent ? [...(await stepWords(module)), 'close_module'] : [':'];
    const open = `open_module ${identity(module.name, module.fingerprint)} ${isSent ? 'sent' : 'absent'}`;
    plan.push(`if ${open}; then ${words.join(' &&\n')} || return 0; fi`);
  }
  return `plan() {\n${plan.join('\n')}\n}\nverb_modules ${nonce}\n`;
}

async function stepWords(plan: ModulePlan): Promise<readonly string[]> {
  const words: string[] = [];
  for (const step of plan.steps) {
    for (const file of step.files ?? []) words.push(await fileWord(plan, file));
    words.push(`run_step ${shellQuote(step.script)}`);
  }
  return words;
}

async function fileWord(plan: ModulePlan, file: ModuleFile): Promise<string> {
  const mode = file.mode.toString(8);
  const path = shellQuote(checkedPath(plan, file.path));
  if (isCopied(file)) return `put_copied ${mode} ${file.content.sha256} ${path}`;
  return `put ${mode} ${path} ${shellQuote((await contentOf(file.content)).toString('base64'))}`;
}

/** Files up to this many bytes are sent with the scripts. Larger ones are copied before, and continue after a cut. */
const LARGEST_INLINE = 256 * 1024;

export type CopiedFile = ModuleFile & { readonly content: FileSource };

/** Returns whether the file is put on the host before the call, at `copiedPath`. */
export function isCopied(file: ModuleFile): file is CopiedFile {
  return isSource(file.content) && file.content.size > LARGEST_INLINE;
}

/** Below the login user's home; named by content, so that a file that has arrived is not sent again. */
export const copiedPath = ({ sha256 }: FileSource): string => `.jobctl/files/${sha256}`;

/** Bytes of a module's scripts and files. */
export function sizeOf(plan: ModulePlan): number {
  const files = plan.steps.flatMap((step) => step.files ?? []);
  const scripts = plan.steps.reduce((sum, { script }) => sum + script.length, 0);
  return files.reduce((sum, { content }) => sum + (isSource(content) ? content.size : content.length), scripts);
}

const isSource = (content: ModuleFile['content']): content is FileSource =>
  typeof content !== 'string' && !Buffer.isBuffer(content);

async function contentOf(content: ModuleFile['content']): Promise<Buffer> {
  return isSource(content) ? wholeOf(content.read(0)) : Buffer.from(content);
}

/**
 * Joins the checks into one program. Its arguments are places in `plans`; for each it runs the check and prints `PLACE CODE` on
 * descriptor 3. Each check runs in a subshell without that descriptor, so no check can end the others or answer for them.
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

/** `NAME FINGERPRINT`, neither of which needs quotes. */
function identity(name: string, fingerprint: string): string {
  if (!NAME.test(name)) throw new WrongInput(`module name '${name}': use letters, digits, '.', '_' and '-'`);
  if (FINGERPRINT.test(fingerprint)) return `${name} ${fingerprint}`;
  throw new WrongInput(
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
    throw new WrongInput(
      `module '${plan.name}': file path ${JSON.stringify(path)} must be relative to the home folder, without '..' and newlines`,
    );
  }
  return path;
}

import { count } from '../../../domain/units.js';
import { ExitCode } from '../../terminal/cli-error.js';
import { printErr } from '../../terminal/print.js';
import { sizeText } from '../../terminal/render/quantities.js';
import { type Change, isRefusal, type Made } from './host-folder.js';

/** Names of changed files in one line. */
const SHOWN_NAMES = 3;

/** Lines for the person at the terminal. A problem that stays is said once. */
export class Sayings {
  readonly #lasting = new Set<string>();
  readonly #said = new Set<string>();
  #isInStep = false;

  /** A problem that stays with the folder. */
  lasting(line: string): void {
    if (!this.#lasting.has(line)) say(line);
    this.#lasting.add(line);
  }

  once(line: string): void {
    this.#isInStep = false;
    if (this.#said.has(line)) return;
    this.#said.add(line);
    say(line);
  }

  answer(host: number, { path }: Change, answer: Made, replaced: string): void {
    if (answer === 'kept')
      say(`host ${host}: ${path} was changed there and is replaced; its version of before is ${replaced}/${path}`);
    if (answer === 'changed') say(`host ${host}: ${path} was changed there, so it is not removed`);
    if (isRefusal(answer)) this.once(`host ${host}: ${path}: ${answer}; trying again`);
  }

  /** @param changed bytes by path */
  brought(changed: ReadonlyMap<string, number>, hosts: number): void {
    this.#said.clear();
    this.#isInStep = true;
    const names = [...changed.keys()];
    const bytes = [...changed.values()].reduce((sum, size) => sum + size, 0);
    const more = names.length > SHOWN_NAMES ? ` and ${names.length - SHOWN_NAMES} more` : '';
    const size = bytes === 0 ? '' : `, ${sizeText(bytes)}`;
    say(
      `${count(names.length, 'file')}${size}, ${count(hosts, 'host')}: ${names.slice(0, SHOWN_NAMES).join(', ')}${more}`,
    );
  }

  /** @param what such as `.: work of exp-7` */
  inStep(what: string, files: number, hosts: number): void {
    if (this.#isInStep) return;
    this.#isInStep = true;
    say(`${count(files, 'file')} of ${what} is in step on ${count(hosts, 'host')}`);
  }

  ended(job: string, isBehind: boolean): ExitCode {
    say(`${job} has ended${isBehind ? ', and not all that changed here had reached its hosts' : ''}`);
    return isBehind ? ExitCode.Failed : ExitCode.Done;
  }
}

const say = (line: string): void => printErr(`${new Date().toLocaleTimeString('sv')}  ${line}\n`);

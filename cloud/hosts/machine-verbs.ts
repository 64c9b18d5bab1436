import { type AcceleratorMaker, isModelOf, isNamed, makerOf } from '../../domain/machine-kinds/machines/words.js';
import type { MachineFacts } from '../../domain/machine-kinds/machines/findings.js';
import type { MachineSlot } from '../../domain/slice.js';
import { parseFacts } from './machine-facts.js';
import { HostUnreachable } from './port.js';
import type { RunnerClient } from './runner-client.js';

/** A machine's own answer about its claim. */
export interface Holder {
  /** The text of the claim; its first line is its id. Absent: the machine is unclaimed. */
  readonly claim?: string;
  /** The claim in question is being given back, or has been. No command starts under it any more. */
  readonly isEnded: boolean;
}

export type ClaimAnswer =
  | { readonly kind: 'claimed' }
  /** Another claim holds the machine. */
  | { readonly kind: 'taken'; readonly claim: string }
  /** The claim was given back before. */
  | { readonly kind: 'ended' };

/** A machine's facts in the pool file. */
export interface Declared {
  /** `count` is that of the whole machine; `any` is whatever it has. Absent `maker` and `model`: the type's name says them. */
  readonly accelerator?: {
    readonly type: string;
    readonly count: number | 'any';
    readonly maker?: AcceleratorMaker;
    readonly model?: string;
  };
  readonly slot?: MachineSlot;
  /** UUIDs of the slot's GPUs. Absent: not known yet, so its indexes count. */
  readonly uuids?: readonly string[];
  /** The operator's own script. */
  readonly check?: string;
}

export interface Inspection {
  /** Sentences about faults that keep the machine out of use until a person mends them. */
  readonly problems: readonly string[];
  /** Says which other process uses its accelerators. That is no fault of the machine. */
  readonly busy?: string;
  /** Oddities that do not keep the machine out of use. */
  readonly warnings: readonly string[];
  /** The names that its GPUs give themselves. Absent: no NVIDIA driver was asked. */
  readonly model?: string;
  /** UUIDs of all GPUs of the machine, in the driver's order. Absent: no NVIDIA driver was asked, or it told none. */
  readonly listed?: readonly string[];
}

/** Free space that a machine must have: for jobctl's own files and a little of a job's. A job must check its own needs. */
const LEAST_FREE_KIB = 1024 * 1024;

/** The runner's verbs for a machine that outlives its slices. @throws HostUnreachable, RunnerFailed */
export class MachineVerbs {
  readonly #runner: RunnerClient;

  constructor(runner: RunnerClient) {
    this.#runner = runner;
  }

  async claim(id: string, text: string, job: string): Promise<ClaimAnswer> {
    const stdin = Buffer.from(text);
    const { word, rest } = await this.#ask(['claim', id, String(stdin.length), job], stdin);
    switch (word) {
      case 'claimed':
      case 'ended':
        return { kind: word };
      case 'taken':
        return { kind: 'taken', claim: rest };
      default:
        throw new HostUnreachable(`the machine answered '${word}' to a claim`);
    }
  }

  async holder(id: string): Promise<Holder> {
    const { word, rest } = await this.#ask(['holder', id]);
    return { isEnded: word === 'ended', ...(rest !== '' && { claim: rest }) };
  }

  /**
   * Ends running processes, which have `graceMs` to end by themselves, and then removes the claim if the machine has it.
   * @returns the first processes that it ended, such as `process 4242 (python3 serve.py) of user train`
   */
  vacate(id: string, graceMs: number): Promise<readonly string[]> {
    return this.#giveBack('vacate', id, graceMs);
  }

  /** The same for a machine that was lent, with all files of jobctl but one empty mark. */
  leave(id: string, graceMs: number): Promise<readonly string[]> {
    return this.#giveBack('leave', id, graceMs);
  }

  async #giveBack(verb: 'vacate' | 'leave', id: string, graceMs: number): Promise<readonly string[]> {
    const { stdout } = await this.#runner.call([verb, id, String(graceMs)], {});
    const said = stdout.toString();
    if (!said.includes(`${MARK}vacated`))
      throw new HostUnreachable(`the machine answered '${said.slice(-100).trim()}' when it was given back`);
    return wordsOf(said, 'ended').slice(0, MOST_ENDED).map(endedText);
  }

  async inspect({ accelerator, slot, uuids, check = '' }: Declared): Promise<Inspection> {
    const maker = accelerator === undefined ? '-' : (accelerator.maker ?? makerOf(accelerator.type));
    const gpus = (uuids ?? slot?.gpus ?? []).join(',');
    const words = ['inspect', maker, String(accelerator?.count ?? 0), String(LEAST_FREE_KIB), gpus];
    const { stdout } = await this.#runner.call(words, { stdin: Buffer.from(check) });
    const said = stdout.toString();
    if (!said.includes(`${MARK}inspected`)) throw new HostUnreachable('the machine did not finish its inspection');
    const [busy] = wordsOf(said, 'busy');
    const models = wordsOf(said, 'gpu');
    const listed = wordsOf(said, 'uuid');
    return {
      problems: wordsOf(said, 'problem'),
      ...(busy !== undefined && { busy }),
      warnings: [...wordsOf(said, 'warning'), ...wrongModel(accelerator, models)],
      ...(models.length > 0 && { model: models.join(', ').slice(0, MOST_MODEL) }),
      ...(listed.length > 0 && { listed }),
    };
  }

  /** Changes nothing, and does not mind a job. @param peers addresses that its jobs may have to reach */
  async examine(peers: readonly string[]): Promise<MachineFacts> {
    const from = Date.now();
    const { stdout } = await this.#runner.call(['examine', ...peers]);
    const said = stdout.toString();
    if (!said.includes(`${MARK}section end`)) throw new HostUnreachable('the machine did not finish its examination');
    return parseFacts(said, { from, to: Date.now() });
  }

  async #ask(words: readonly string[], stdin?: Buffer): Promise<{ readonly word: string; readonly rest: string }> {
    const { stdout } = await this.#runner.call(words, stdin ? { stdin } : {});
    const text = stdout.toString();
    const at = text.indexOf(MARK);
    const [line = '', ...rest] = text.slice(at < 0 ? 0 : at + MARK.length).split('\n');
    return { word: at < 0 ? '' : line, rest: rest.join('\n') };
  }
}

function wrongModel(accelerator: Declared['accelerator'], gpus: readonly string[]): readonly string[] {
  if (accelerator === undefined) return [];
  const { type, model } = accelerator;
  if (model === undefined ? isModelOf(type, gpus) : isNamed(model, gpus)) return [];
  return [`the pool file says ${model ?? type}, and nvidia-smi -L lists ${gpus.join(', ')}`];
}

/** The words of `RUNNER: KIND: WORDS` lines. */
const wordsOf = (said: string, kind: string): readonly string[] =>
  said
    .split('\n')
    .flatMap((line) => (line.startsWith(`${MARK}${kind}: `) ? [line.slice(MARK.length + kind.length + 2)] : []));

/** @param line `PID USER COMMAND LINE` */
function endedText(line: string): string {
  const [pid = '', user = '', ...words] = line.split(' ');
  return `process ${pid} (${words.join(' ')}) of user ${user}`;
}

/** Processes that are named of one machine, and characters of the models that its driver lists. */
const MOST_ENDED = 5;
const MOST_MODEL = 200;

/** Begins each word of the runner; a login shell may print text before it. */
const MARK = 'jobctl-runner: ';

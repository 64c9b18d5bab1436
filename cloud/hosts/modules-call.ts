import { randomBytes } from 'node:crypto';
import type { ModulePlan } from '../../domain/modules/module.js';
import { type ModuleOutcome, type SetUpListener, RunnerFailed } from './port.js';
import { copiedPath, isCopied, modulesProgram, sizeOf } from './module-program.js';
import { OutputTail } from './remote-exec.js';
import type { RunnerClient } from './runner-client.js';
import type { StoreFetch } from './store-fetch.js';

/** Wait after the end of a call for its last step's output; a daemon that the step started may hold the channel open for ever. */
const LINGER_MS = 1000;
const TAIL_LINES = 20;
/** Steps of at most this many bytes are sent even if the host may not need them, which saves a round trip if it does. */
const SENT_ANYWAY = 16 * 1024;

export interface ModulesCallContext {
  readonly runner: RunnerClient;
  readonly where: string;
  readonly fetch: StoreFetch;
}

/**
 * Makes modules ready on one host, in order, up to the first that fails. If nothing has changed, all of them cost one round trip,
 * in which every check runs. Steps of small modules are sent along; those of large ones are sent when the host has asked for
 * them.
 */
export async function applyModules(
  context: ModulesCallContext,
  plans: readonly ModulePlan[],
  listener: SetUpListener,
  signal: AbortSignal,
): Promise<readonly ModuleOutcome[]> {
  const outcomes: ModuleOutcome[] = [];
  const asked = new Set(plans.filter((plan) => sizeOf(plan) <= SENT_ANYWAY).map(({ name }) => name));
  while (outcomes.length < plans.length) {
    const call = new ModulesCall(plans.slice(outcomes.length), listener);
    try {
      await call.run(context, asked, signal);
    } catch (error) {
      // After an abort the step would continue, so it is told to end. Errors of this call are ignored: the abort's reason counts.
      if (signal.aborted) await context.runner.call(['modules-stop']).catch(() => undefined);
      throw error;
    }
    for (const one of call.outcomes) outcomes.push(one);
    const [first] = call.needed;
    if (first === undefined) return whole(context, plans, outcomes);
    if (call.outcomes.length === 0 && call.needed.every((name) => asked.has(name)))
      throw new Error(`${context.where}: the on-host runner asks for module '${first}', which it was sent`);
    for (const name of call.needed) asked.add(name);
  }
  return outcomes;
}

/** @throws RunnerFailed if a module has no answer: silence does not mean ready */
function whole(
  { where }: ModulesCallContext,
  plans: readonly ModulePlan[],
  outcomes: readonly ModuleOutcome[],
): readonly ModuleOutcome[] {
  const untold = outcomes.at(-1)?.kind === 'failed' ? undefined : plans[outcomes.length];
  if (untold === undefined) return outcomes;
  throw new RunnerFailed(`${where}: the on-host runner did not say what became of module '${untold.name}'`);
}

/** One call of the verb. */
class ModulesCall {
  /** The outcomes of the first modules, in order and without a gap. */
  readonly outcomes: ModuleOutcome[] = [];
  /** Names of modules that must be made and whose steps were not sent. */
  readonly needed: string[] = [];
  readonly #plans: readonly ModulePlan[];
  readonly #listener: SetUpListener;
  /** The tail of the current step's output. */
  #tail = new OutputTail(TAIL_LINES);
  #place: number | undefined;
  #isWhole = false;

  constructor(plans: readonly ModulePlan[], listener: SetUpListener) {
    this.#plans = plans;
    this.#listener = listener;
  }

  async run({ runner, where, fetch }: ModulesCallContext, asked: ReadonlySet<string>, signal: AbortSignal) {
    const modules = this.#plans.map((plan) => ({ plan, isSent: asked.has(plan.name) }));
    for (const { plan } of modules.filter(({ isSent }) => isSent)) await this.#placeLargeFiles(plan, fetch, signal);
    const nonce = randomBytes(16).toString('hex');
    const frames = new ModuleFrames(nonce);
    const onStdout = async (chunk: Buffer): Promise<void> => {
      for (const part of frames.read(chunk)) await (Buffer.isBuffer(part) ? this.#output(part) : this.#hear(part));
    };
    const program = await modulesProgram(nonce, modules);
    const { stderr } = await runner.program('modules', program, { onStdout, signal, lingerMs: LINGER_MS });
    if (!this.#isWhole)
      throw new Error(`${where}: the modules ended without an answer: '${stderr.trim().slice(-500)}'`);
  }

  async #placeLargeFiles({ name, steps }: ModulePlan, fetch: StoreFetch, signal: AbortSignal): Promise<void> {
    const tell = (line: string) => this.#listener.onOutput(name, Buffer.from(`jobctl: ${line}\n`));
    this.#listener.onFiles?.(name);
    for (const { content } of steps.flatMap((step) => step.files ?? []).filter(isCopied))
      await fetch.place(content, copiedPath(content), { mode: 0o600, signal }, tell);
    this.#listener.onFiles?.(undefined);
  }

  /** Output before the first step comes from the host's login files. */
  #output(chunk: Buffer): void | Promise<void> {
    if (this.#place === undefined) return;
    this.#tail.add(chunk);
    return this.#listener.onOutput(this.#nameOf(this.#place), chunk);
  }

  #hear(frame: ModuleFrame): void {
    switch (frame.kind) {
      case 'needed':
        this.needed.push(this.#nameOf(frame.place));
        return;
      case 'unchanged':
      case 'done':
        // Nothing is known about modules after one that must be made first.
        if (this.needed.length === 0) this.#ready({ kind: frame.kind, module: this.#nameOf(frame.place) });
        return;
      case 'step':
        this.#place = frame.place;
        this.#tail = new OutputTail(TAIL_LINES);
        this.#listener.onStep?.({ module: this.#nameOf(frame.place), step: this.#stepOf(frame) });
        return;
      case 'ended':
        return this.#onEnd(frame);
      case 'end':
        this.#isWhole = true;
        return;
    }
  }

  #ready(outcome: Exclude<ModuleOutcome, { kind: 'failed' }>): void {
    this.outcomes.push(outcome);
    this.#listener.onReady?.(outcome);
  }

  #onEnd(frame: Extract<ModuleFrame, { kind: 'ended' }>): void {
    const [module, step] = [this.#nameOf(frame.place), this.#stepOf(frame)];
    this.#listener.onStep?.({ module, step, code: frame.code });
    if (frame.code !== 0) this.#fail(module, step, frame.code, this.#tail.text());
  }

  #fail(module: string, step: string, code: number, tail: string): void {
    this.#isWhole = true;
    this.outcomes.push({ kind: 'failed', module, step, code, tail });
  }

  #nameOf(place: number): string {
    return this.#plans[place]?.name ?? `module ${place + 1}`;
  }

  #stepOf({ place, step }: { readonly place: number; readonly step: number }): string {
    return this.#plans[place]?.steps[step - 1]?.name ?? `step ${step}`;
  }
}

/**
 * The runner's messages about the modules of one call, which come between output. `place` is a module's place in the call, and
 * `step` counts from 1.
 */
type ModuleFrame =
  | { readonly kind: 'unchanged' | 'needed' | 'done'; readonly place: number }
  | { readonly kind: 'step'; readonly place: number; readonly step: number }
  | { readonly kind: 'ended'; readonly place: number; readonly step: number; readonly code: number }
  | { readonly kind: 'end' };

/** Limit of a frame: a mark, a word and three numbers. */
const MOST_FRAME_BYTES = 4096;

/**
 * Cuts stdout of the verb `modules` into frames and the steps' output between them. A frame contains the nonce of its call, which
 * no step knows, so no output can pass for a frame. Chunks may cut a frame anywhere.
 */
export class ModuleFrames {
  readonly #mark: Buffer;
  #held = Buffer.alloc(0);

  constructor(nonce: string) {
    this.#mark = Buffer.from(`\u0001jobctl ${nonce} `);
  }

  /** Yields frames and output in order. Bytes that may begin a frame are held back. */
  *read(chunk: Buffer): Generator<ModuleFrame | Buffer> {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      const at = rest.indexOf(this.#mark);
      const end = at < 0 ? -1 : rest.indexOf('\n', at);
      if (at >= 0 && end < 0 && rest.length - at > MOST_FRAME_BYTES)
        throw new Error('on-host runner: an answer of modules has no end');
      if (end < 0) {
        const held = at < 0 ? this.#partOfMark(rest) : rest.length - at;
        if (rest.length > held) yield rest.subarray(0, rest.length - held);
        this.#held = Buffer.from(rest.subarray(rest.length - held));
        return;
      }
      if (at > 0) yield rest.subarray(0, at);
      yield parsed(rest.subarray(at + this.#mark.length, end).toString());
      rest = rest.subarray(end + 1);
    }
  }

  /** The number of bytes at the end that may begin a mark. */
  #partOfMark(bytes: Buffer): number {
    for (let length = Math.min(bytes.length, this.#mark.length - 1); length > 0; length--) {
      if (bytes.subarray(bytes.length - length).equals(this.#mark.subarray(0, length))) return length;
    }
    return 0;
  }
}

function parsed(line: string): ModuleFrame {
  const [kind, ...numbers] = line.split(' ');
  const [place = NaN, step = NaN, code = NaN] = numbers.map(Number);
  switch (kind) {
    case 'unchanged':
    case 'needed':
    case 'done':
      return { kind, place };
    case 'step':
      return { kind, place, step };
    case 'ended':
      return { kind, place, step, code };
    case 'end':
      return { kind };
    default:
      throw new Error(`on-host runner: '${line}' is no answer of modules`);
  }
}

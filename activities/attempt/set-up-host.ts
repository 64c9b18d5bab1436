import { log } from '@temporalio/activity';
import type { ModulePlan } from '../../domain/modules/module.js';
import {
  type HostConnection,
  HostFileError,
  type HostTarget,
  jobMark,
  type ModuleOutcome,
  RunnerFailed,
  type SetUpListener,
} from '../../cloud/hosts/port.js';
import { isOfStore } from '../../cloud/store/port.js';
import { LAST_LINES } from '../../domain/output-lines.js';
import { afterSetUpFailure, judgeSetUpFailure, CONNECT } from '../../domain/set-up-record.js';
import { logPrefix } from '../../domain/store-layout.js';
import { ManifestWrong } from '../../domain/stored-outputs.js';
import type { AttemptInput, SetUpEnd } from '../../contract/job-activities.js';
import { type AttemptHost, type HostCaller, placeOf } from './attempt-hosts.js';
import type { Patience } from './unreachable-hosts.js';
import type { Shipping } from './log-stream.js';
import { LogStream } from './log-stream.js';
import { pause } from './activity-end.js';
import type { SetUpJournal } from './set-up-journal.js';

/** A part of the set-up that lays stored files down on hosts. */
export interface StoredFiles {
  /** Its name in the record and logs of the set-up. */
  readonly module: string;
  /** Undefined: the host gets none. @throws ManifestWrong */
  planFor(host: AttemptHost): Promise<ModulePlan | undefined>;
  /** The host does not fetch the contents itself: `hand` puts them there, before the plan is done. */
  isHanded(host: AttemptHost): boolean;
  /** @throws ManifestWrong */
  hand(host: AttemptHost, connection: HostConnection, signal: AbortSignal): Promise<void>;
  /** Takes the output of the host while it does the plan. */
  heard(host: AttemptHost, output: string): void;
}

export interface HostSetUpContext {
  readonly shipping: Shipping;
  readonly input: AttemptInput;
  readonly caller: HostCaller;
  readonly plans: readonly ModulePlan[];
  readonly journal: SetUpJournal;
  readonly patience: Patience;
  /** Stored files that hosts get after all modules, in this order: inputs, and files of earlier attempts. */
  readonly files: readonly StoredFiles[];
  /** Whether the host reports another worker number than its place in the provider's list. Absent: it is not asked. */
  readonly isMisnumbered?: (target: HostTarget) => Promise<boolean>;
  readonly signal: AbortSignal;
}

/** A host reports another worker number than its place in the provider's list: nothing may be set up there yet. */
export class Misnumbered extends Error {
  override readonly name = 'Misnumbered';
}

/** The step that stands for the time before any step. */
const ARRIVE = 'arrive';

/** An exit code that `judgeSetUpFailure` always takes for a transient failure. */
const PASSING_CODE = 255;

type FailedModule = Extract<ModuleOutcome, { kind: 'failed' }>;

/** The set-up of one host: all modules in order. A failing step is tried again on this host alone, from that step on. */
export class HostSetUp {
  readonly #context: HostSetUpContext;
  readonly #host: AttemptHost;
  readonly #streams = new Map<string, Promise<LogStream>>();
  #plans: readonly ModulePlan[] = [];
  /** Plans of a host that is first handed the files. */
  #handed: readonly { readonly files: StoredFiles; readonly plan: ModulePlan }[] = [];
  /** The module whose stored files are being handed over. */
  #handing: string | undefined;
  /** The module whose large files are being put on the host. */
  #arriving: string | undefined;

  constructor(context: HostSetUpContext, host: AttemptHost) {
    this.#context = context;
    this.#host = host;
  }

  async run(): Promise<SetUpEnd> {
    const { caller, journal, patience, signal } = this.#context;
    const { target, number } = this.#host;
    // Even without any module: an attempt starts only on hosts that answer.
    journal.began(number, CONNECT, CONNECT);
    await caller.on(target, async () => patience.heard(target));
    journal.ended(number, CONNECT, CONNECT, 0);
    if ((await this.#context.isMisnumbered?.(target)) === true) throw new Misnumbered();
    if (this.#context.input.slices.some(({ landlord }) => landlord !== undefined)) await this.#leaveMark();
    const wrong = await this.#addFiles();
    if (wrong !== undefined) return wrong;
    if (this.#plans.length === 0 && this.#handed.length === 0) return { kind: 'ready' };
    for (;;) {
      const outcomes = await caller.on(target, (connection) => this.#apply(connection));
      await this.#flush();
      const failed = outcomes.find((outcome) => outcome.kind === 'failed');
      if (failed === undefined) return { kind: 'ready' };
      const { end, afterMs } = this.#judge(failed);
      if (end) return end;
      await pause(afterMs, signal);
    }
  }

  /** Older files on the hosts of lent slices are not this job's outputs (docs/adr/0155). A mark that is there stays as old. */
  async #leaveMark(): Promise<void> {
    const { caller, input, signal } = this.#context;
    await caller.on(this.#host.target, (connection) =>
      connection.putFile(Buffer.alloc(0), jobMark(input.job.id), { mode: 0o600, signal }),
    );
  }

  /** Adds stored files after all modules, because those of the command are newer than those of a bundle. */
  async #addFiles(): Promise<SetUpEnd | undefined> {
    const { journal, plans } = this.#context;
    const { target, number } = this.#host;
    this.#plans = plans;
    for (const files of this.#context.files) {
      const { module } = files;
      try {
        const plan = await files.planFor(this.#host);
        if (plan === undefined) journal.ready(number, module, 'unchanged', Date.now());
        else if (files.isHanded(this.#host)) this.#handed = [...this.#handed, { files, plan }];
        else this.#plans = [...this.#plans, plan];
      } catch (error) {
        if (!(error instanceof ManifestWrong)) throw error;
        return { kind: 'module-failed', at: placeOf(target), module, message: error.message };
      }
    }
    return undefined;
  }

  async #apply(connection: HostConnection): Promise<readonly ModuleOutcome[]> {
    const { journal, patience, files: stored, signal } = this.#context;
    const { number, target } = this.#host;
    patience.heard(target);
    const since = Date.now();
    this.#arriving = undefined;
    this.#handing = undefined;
    const listener: SetUpListener = {
      onOutput: async (module, chunk) => {
        stored.find((files) => files.module === module)?.heard(this.#host, chunk.toString());
        await (await this.#streamOf(module)).append(chunk);
      },
      onStep: ({ module, step, code }) =>
        code === undefined ? journal.began(number, module, step) : journal.ended(number, module, step, code),
      onFiles: (module) => (this.#arriving = module),
      onReady: ({ module, kind }) => journal.ready(number, module, kind, since),
    };
    try {
      let outcomes = await connection.applyModules(this.#plans, listener, signal);
      for (const { files, plan } of this.#handed) {
        if (outcomes.some(({ kind }) => kind === 'failed')) return outcomes;
        this.#handing = files.module;
        await files.hand(this.#host, connection, signal);
        outcomes = [...outcomes, ...(await connection.applyModules([plan], listener, signal))];
      }
      return outcomes;
    } catch (error) {
      return [this.#hostFailure(error)];
    }
  }

  /** A problem of the host, or of a file on its way there, and not of the connection. It may pass, and must not end the job. */
  #hostFailure(error: unknown): FailedModule {
    const isWrong = error instanceof ManifestWrong;
    const isOfHost = error instanceof HostFileError || error instanceof RunnerFailed;
    if (!(isOfHost || isWrong || isOfStore(error)) || this.#context.signal.aborted) throw error;
    const { journal } = this.#context;
    const { number } = this.#host;
    const module = isWrong ? (this.#handing ?? CONNECT) : (this.#arriving ?? journal.firstUnready(number) ?? CONNECT);
    journal.began(number, module, ARRIVE);
    const code = isWrong ? 1 : PASSING_CODE;
    journal.ended(number, module, ARRIVE, code);
    return { kind: 'failed', module, step: ARRIVE, code, tail: error.message };
  }

  /** The consequence of a failed step for this host: its end, or a pause before it is tried again. */
  #judge(failed: FailedModule): { readonly end?: SetUpEnd; readonly afterMs: number } {
    const { module, step, code, tail } = failed;
    const { target, number } = this.#host;
    const count = this.#context.journal.tries(number, module, step);
    const failure = judgeSetUpFailure(code, tail);
    const verdict = afterSetUpFailure(failure, count);
    const why = failure.reason === undefined ? '' : ` (${failure.reason})`;
    const what = `step '${step}' ended with code ${code}${why}`;
    if (verdict.kind === 'again') {
      log.warn(`${module} on host ${number}: ${what}; try ${count + 1} in ${verdict.afterMs / 1000} s`);
      return { afterMs: verdict.afterMs };
    }
    const tries = count === 1 ? '' : `, ${count} times`;
    const message = `${what}${tries}${LAST_LINES}${tail}`;
    const at = placeOf(target);
    return { end: { kind: verdict.as, at, module, message }, afterMs: 0 };
  }

  /** Opens the log with the first line: a module that prints nothing has no log. */
  #streamOf(module: string): Promise<LogStream> {
    const { shipping, input, signal } = this.#context;
    const opened =
      this.#streams.get(module) ??
      LogStream.open(shipping, logPrefix(input.job.id, input.attempt, module), this.#host.number, signal);
    this.#streams.set(module, opened);
    return opened;
  }

  async #flush(): Promise<void> {
    for (const stream of this.#streams.values()) await (await stream).flush();
  }
}

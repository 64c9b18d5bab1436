import { Script } from 'node:vm';
import type { WorkflowCreateOptions } from '@temporalio/worker/lib/workflow/interface.js';
import { ReusableVMWorkflow, ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js';
import { workflowBundle } from '../workflow-bundle.js';

/**
 * The SDK's sandboxes, with less care: modules are loaded once and not anew for each run, of all globals only the SDK's own is one run's,
 * and no call has a time limit. Each of these takes longer than a workflow's task. What modules of ours keep of one run is a flood of 50
 * signals (workflows/flood.ts), which never is here, and the text of its details, by run (workflows/current-details.ts).
 */
export class Sandboxes extends ReusableVMWorkflowCreator {
  static #made: Promise<Sandboxes> | undefined;

  /** For all servers and test files of a process. */
  static ofThisProcess(): Promise<Sandboxes> {
    return (this.#made ??= workflowBundle().then((bundle) => Sandboxes.#ofBundle(bundle)));
  }

  static #ofBundle({ code }: { readonly code: string }): Sandboxes {
    const filename = 'workflow-bundle.js';
    const sourceMap = { version: 3 as const, sources: [], names: [], mappings: '', file: '' };
    const made = new Sandboxes(new Script(code, { filename }), { code, filename, sourceMap }, NO_LIMIT, new Set());
    new Script('__TEMPORAL__.importWorkflows(); __TEMPORAL__.importInterceptors();').runInContext(made.context);
    return made;
  }

  override async createWorkflow(options: WorkflowCreateOptions): Promise<ReusableVMWorkflow> {
    const context = this.context as { __TEMPORAL_ACTIVATOR__?: unknown; __temporal_args?: unknown };
    const call = (name: string | symbol, args: readonly unknown[]): unknown => {
      context.__temporal_args = [name, args];
      return CALL.runInContext(this.context);
    };
    call('initRuntime', [{ ...options, sourceMap: {}, getTimeOfDay: () => 0n, registeredActivityNames: new Set() }]);
    const activator = context.__TEMPORAL_ACTIVATOR__;
    const get =
      (_: object, name: string | symbol) =>
      (...args: unknown[]) => {
        context.__TEMPORAL_ACTIVATOR__ = activator;
        return call(name, args);
      };
    const api = new Proxy({}, { get });
    return new ReusableVMWorkflow(options.info.runId, this.context, activator as never, api as never);
  }
}
/** Node watches a call that has one from a thread of its own. */
const NO_LIMIT = undefined as never;
const CALL = new Script('{ const [call, args] = __temporal_args; __TEMPORAL__.api[call](...args); }');

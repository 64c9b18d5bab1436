import { createHash } from 'node:crypto';
import { ACCELERATORS } from './accelerators.js';
import { EXAMINE } from './examine.js';
import { MACHINE } from './machine.js';
import { MODULE_VERBS, STEP_SHELL } from './module.js';
import { GUARD, SAVE_HOOK, BEFORE_COMMAND } from './beside-command.js';
import { CONTAINER, LEFT_BEHIND } from './container.js';
import { HOST_OBJECTS, OUTPUTS } from './outputs.js';
import { PRELUDE } from './prelude.js';
import { PROVIDER } from './provider.js';
import { RUN_START, RUN_STATUS, RUN_STOP } from './run.js';
import { USE } from './use.js';

/**
 * Stands right after the module verbs, which do not need the other parts: sh runs a program while it reads it, so it skips those.
 * After the verb `modules`, the program that sourced this file continues.
 */
const DISPATCH_MODULES = `
verb=$1
shift
case $verb in
  modules) return ;;
  modules-stop) verb_modules_stop; exit ;;
  modules-forget) verb_modules_forget "$@"; exit ;;
esac
`;

const DISPATCH = `
case $verb in
  start) verb_start "$@" ;;
  supervise) verb_supervise "$@" ;;
  child) verb_child "$@" ;;
  watch) verb_watch "$@" ;;
  sign) verb_sign "$@" ;;
  keep) verb_keep "$@" ;;
  deliver) verb_deliver "$@" ;;
  outputs) verb_outputs "$@" ;;
  guard) verb_guard "$@" ;;
  warn) verb_warn "$@" ;;
  terminating) verb_terminating "$@" ;;
  status) verb_status "$@" ;;
  stop) verb_stop "$@" ;;
  follow) verb_follow "$@" ;;
  claim) verb_claim "$@" ;;
  holder) verb_holder "$@" ;;
  vacate) verb_vacate "$@" ;;
  leave) verb_leave "$@" ;;
  inspect) verb_inspect "$@" ;;
  examine) verb_examine "$@" ;;
  use) verb_use ;;
  *) die "no verb '$verb'" ;;
esac
`;

export { CONTAINER_ENTRY } from './container.js';

/** The on-host runner: one POSIX sh program (docs/runner.md). It is a string, so that the built code needs no asset. */
export const RUNNER_TEXT = `#!/bin/sh
# jobctl's on-host runner: starts a command once, keeps its exit code, stops all of it. Safe to delete when no job runs.
${PRELUDE}${STEP_SHELL}${MODULE_VERBS}${DISPATCH_MODULES}${ACCELERATORS}${BEFORE_COMMAND}${CONTAINER}${PROVIDER}${HOST_OBJECTS}${OUTPUTS}${SAVE_HOOK}${GUARD}${LEFT_BEHIND}${USE}${RUN_STATUS}${RUN_START}${RUN_STOP}${MACHINE}${EXAMINE}${DISPATCH}`;

/** The runner's name below the login user's home. It contains a hash, so two versions of jobctl can use one host. */
export const RUNNER_NAME = `.jobctl/runner-${createHash('sha256').update(RUNNER_TEXT).digest('hex').slice(0, 12)}.sh`;

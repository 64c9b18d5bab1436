import { detectConfinement } from '../vm/confinement.js';

/** For a `before` hook of what only VMs with files and processes of their own can show: root, and namespaces of the kernel. */
export function needsConfinement(hook: Mocha.Context): void {
  // Nothing here could tell one VM from another. Pending, not green: .ci/run forbids pending tests, so there it is a failure.
  if (detectConfinement().kind === 'none') hook.skip();
}

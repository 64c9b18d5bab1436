import type { ModulePlan } from './port.js';

const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
const FINGERPRINT = /^[A-Za-z0-9._:-]+$/;

/**
 * A module's check, steps and files as the runner's `module` verb reads them from stdin (runner/module.ts).
 * @throws RangeError for a name, fingerprint or path that the form cannot carry.
 */
export function modulePayload(plan: ModulePlan): Buffer {
  if (!NAME.test(plan.name)) throw new RangeError(`module name '${plan.name}': use letters, digits, '.', '_' and '-'`);
  if (!FINGERPRINT.test(plan.fingerprint)) {
    throw new RangeError(
      `module '${plan.name}': fingerprint '${plan.fingerprint}' must be of letters, digits, '.', '_', ':' and '-'`,
    );
  }
  const check = Buffer.from(plan.check);
  const parts: Buffer[] = [line(`check ${check.length}`), check];
  for (const step of plan.steps) {
    const script = Buffer.from(step.script);
    parts.push(line(`step ${script.length}`), script);
    for (const file of step.files ?? []) {
      parts.push(
        line(`file ${file.mode.toString(8)} ${file.content.length} ${checkedPath(plan, file.path)}`),
        file.content,
      );
    }
  }
  return Buffer.concat([...parts, line('end')]);
}

function line(text: string): Buffer {
  return Buffer.from(`${text}\n`);
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

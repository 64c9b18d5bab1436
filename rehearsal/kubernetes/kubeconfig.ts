import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Name of the context, the cluster and the user. Users must not take it for a real cluster's. */
const NAME = 'rehearsal';

/** Writes a kubeconfig as JSON, which is YAML too. @returns its path; mode 0600 */
export function writeKubeconfig(
  folder: string,
  { server, caFile, token }: { readonly server: string; readonly caFile: string; readonly token: string },
): string {
  const file = join(folder, 'kubeconfig');
  const authority = readFileSync(caFile).toString('base64');
  const content = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': NAME, preferences: {} },
    clusters: [{ name: NAME, cluster: { server, 'certificate-authority-data': authority } }],
    users: [{ name: NAME, user: { token } }],
    contexts: [{ name: NAME, context: { cluster: NAME, user: NAME, namespace: 'default' } }],
  };
  writeFileSync(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return file;
}

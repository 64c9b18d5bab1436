import { outcomeOf } from './outcome.js';
import { loginEnvironment } from './environment.js';
import type { LoginHost } from './session.js';

/** Like Google's guest agent, executes the script as a file, so that its first line names the interpreter. */
const RUN = `mkdir -p /var/log
file=$(mktemp /tmp/metadata-scripts-XXXXXX) && cat > "$file" && chmod 700 "$file"
exec >> /var/log/startup-script.log 2>&1
"$file"; code=$?
rm -f "$file"
exit "$code"`;

/** Boots the VM and runs its startup script as root, with its output in the VM's /var/log/startup-script.log. Never rejects. */
export async function runStartupScript(
  script: string,
  host: LoginHost,
  record: (kind: string, details: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  try {
    const { machine, home, commands } = await host.enter('root');
    const login = loginEnvironment({ user: 'root', home, hostname: host.hostname, commands });
    const { code } = await outcomeOf(machine.start(['sh', '-c', RUN], { ...login, ...host.environment }), script);
    record('vm-startup-script', { exitCode: code });
    host.left?.();
  } catch (error) {
    record('vm-startup-script', { error: error instanceof Error ? error.message : String(error) });
  }
}

import type { SshProcess } from './open-ssh.js';

/**
 * While the OpenSSH client runs a terminal's Ctrl-C is its own, and reaches it without us: this process only has to outlive it.
 * A SIGTERM is passed on.
 * @returns ends it
 */
export function watchSignals(ssh: SshProcess): () => void {
  const ignore = (): void => undefined;
  const passOn = (): void => ssh.kill('SIGTERM');
  process.on('SIGINT', ignore);
  process.on('SIGTERM', passOn);
  return () => {
    process.off('SIGINT', ignore);
    process.off('SIGTERM', passOn);
  };
}

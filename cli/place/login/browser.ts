import { spawn } from 'node:child_process';
import type { Environment } from '../../terminal/home.js';

/** The program that opens an address for a user at this computer. Undefined: there is no display. */
export function browserOf(env: Environment, platform = process.platform): string | undefined {
  if (env['BROWSER']) return env['BROWSER'];
  if (platform === 'darwin') return 'open';
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? 'xdg-open' : undefined;
}

/** Never fails: the address was printed. */
export function openBrowser(program: string, url: string): void {
  const browser = spawn(program, [url], { detached: true, stdio: 'ignore' });
  browser.once('error', () => undefined);
  browser.unref();
}

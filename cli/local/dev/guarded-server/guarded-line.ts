import type { StackHome } from '../../../terminal/home.js';
import { loginEnd } from './credentials.js';
import { serverFiles } from '../../../place/stack/server-files.js';

/** A line for people: the server's address, its login, and the end of that login. */
export function guardedLine(home: StackHome, address: string): string {
  const files = serverFiles(home);
  const end = loginEnd(files);
  const until = end === undefined ? '' : `, until ${new Date(end).toISOString().slice(0, 10)}`;
  return `Temporal: ${address}, by TLS and the API key in ${files.apiKey}${until}; it has no Web UI`;
}

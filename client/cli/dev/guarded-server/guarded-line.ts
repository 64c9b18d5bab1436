import type { StackHome } from '../home.js';
import { loginEnd } from './credentials.js';
import { serverFiles } from './server-files.js';

/** For people: where the server is, who gets in, and until when. */
export function guardedLine(home: StackHome, address: string): string {
  const files = serverFiles(home);
  const end = loginEnd(files);
  const until = end === undefined ? '' : `, until ${new Date(end).toISOString().slice(0, 10)}`;
  return `Temporal: ${address}, by TLS and the API key in ${files.apiKey}${until}; it has no Web UI`;
}

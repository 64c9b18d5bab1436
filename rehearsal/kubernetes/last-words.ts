import { existsSync, readFileSync } from 'node:fs';
import { logFile, terminationLog } from '../vm/container.js';
import type { Pod } from './objects.js';

/** Text of a process's termination log. After a failure without such text, the end of its output, if the pod asks for that. */
export function lastWords(folder: string, { spec }: Pod, end: number): string {
  const read = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  const message = read(terminationLog(folder)).slice(0, 4096);
  const isFromLog = spec.containers[0]?.terminationMessagePolicy === 'FallbackToLogsOnError';
  if (message !== '' || end === 0 || !isFromLog) return message;
  return read(logFile(folder)).slice(-2048).split('\n').slice(-81).join('\n');
}

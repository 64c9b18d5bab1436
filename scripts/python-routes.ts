import { type Operation, OPERATIONS } from '../contract/operations.js';

export const ROUTES_FILE = 'python/src/jobctl/_core/routes.py';

/** Python source with the method and path of each operation, and whether it may be repeated. */
export function pythonRoutes(): string {
  const rows = Object.entries(OPERATIONS).map(([name, { call, isOnce }]: readonly [string, Operation]) => {
    const [method = '', path = ''] = call.split(' ');
    const constant = name.replace(/[A-Z]/g, '_$&').toUpperCase();
    const more = isOnce === true ? ', is_repeatable=False' : '';
    return `${constant} = Route("${method}", "${path.replace(/:(\w+)/g, '{$1}')}"${more})`;
  });
  return `${HEAD}${rows.join('\n')}\n`;
}

const HEAD = `"""The operations of \`jobctl serve\`. Written by scripts/write-python.ts from contract/operations.ts: change that."""

from typing import NamedTuple


class Route(NamedTuple):
    method: str
    # \`{id}\` is a job's, \`{pool}\` a pool's.
    path: str
    # Done twice is as good as done once.
    is_repeatable: bool = True


`;

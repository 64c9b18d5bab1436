type Value = string | number | boolean | undefined;

/**
 * The URL path of a call.
 * @param call a row of contract/operations.ts
 * @param of the job, group or pool in its path
 */
export function pathOf(call: string, of = '', query: Readonly<Record<string, Value>> = {}): string {
  const [, path = ''] = call.split(' ');
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(asked.map(([key, value]): [string, string] => [key, String(value)])).toString();
  return `${path.replace(/:\w+/, () => encodeURIComponent(of))}${search === '' ? '' : `?${search}`}`;
}

/** The file with the row of that name in the table with that head, in place of an older one. @throws Error if it has no table */
export function withRow(text: string, head: string, name: string, cells: readonly (string | number)[]): string {
  const row = `| ${[name, ...cells].join(' | ')} |`;
  const lines = text.split('\n');
  const at = lines.indexOf(head);
  if (at === -1) throw new Error(`docs/runs.md: no table with the head ${head}`);
  const end = lines.findIndex((line, index) => index > at && !line.startsWith('|'));
  const old = lines.findIndex((line, index) => index > at && index < end && line.startsWith(`| ${name} |`));
  if (old === -1) lines.splice(end, 0, row);
  else lines[old] = row;
  return lines.join('\n');
}

import { createHash } from 'node:crypto';
import { PRINT_MARK } from './output-streams.js';

/** A file that is being copied to a host. */
export interface FilePlace {
  /** A path in the shell's syntax. */
  readonly path: string;
  /** Name of the partial file, in the same folder. */
  readonly part: string;
  readonly size: number;
  readonly sha256: string;
  readonly mode: number;
}

/**
 * Derived from path and content: every writer of this part writes the same bytes at the same offsets. So a cut copy that still
 * runs on the host does no harm to its successor.
 */
export function partName(path: string, sha256: string): string {
  return `.jobctl-${createHash('sha256').update(`${sha256} ${path}`).digest('hex').slice(0, 24)}.part`;
}

/** Answers go to stderr, in the runner's form (run-status.ts): stdout is for content. */
const WORDS = `set -u
say() { printf 'jobctl-runner: %s\\n' "$*" >&2; }
fail() { echo "$*" >&2; exit 1; }
sum() { sha256sum < "$1" | cut -c 1-64; }
length() { wc -c < "$1" | tr -d ' '; }
`;

/** Begins a script about the file; ends the script with `unchanged` if the file already exists. */
export const onPlace = ({ path, part, size, sha256, mode }: FilePlace): string => `${WORDS}umask 022
p=${path}
[ ! -d "$p" ] || fail 'there is a folder of this name'
d=$(dirname -- "$p")
mkdir -p -- "$d" || exit 1
t=$d/${part}
umask 077
unless_there() {
  [ -f "$p" ] && [ "$(length "$p")" = ${size} ] && [ "$(sum "$p")" = ${sha256} ] || return 0
  chmod ${mode.toString(8)} "$p" || exit 1
  say unchanged
  exit 0
}
unless_there
`;

/** Reports `unchanged`, or the number of bytes that are already there. */
export const sizeScript = (place: FilePlace): string =>
  `${onPlace(place)}if [ -f "$t" ]; then say "$(length "$t")"; else say 0; fi`;

/** Reports `done`, or the problem of the part; a part with other content is removed. */
export const intoPlace = ({ size, sha256, mode }: FilePlace): string => `n=$(length "$t")
[ "$n" -ge ${size} ] || { say "only $n of ${size} bytes arrived"; exit 0; }
got=$(sum "$t")
[ "$got" = ${sha256} ] || { rm -f -- "$t"; say "sha256 of what arrived is $got, not ${sha256}"; exit 0; }
chmod ${mode.toString(8)} "$t" && sync "$t" && mv -f -- "$t" "$p" || exit 1
say done`;

/** Reads the bytes from `offset` on from stdin. Reports `unchanged`, `done`, or a sentence about the part. */
export const putScript = (place: FilePlace, offset: number): string => `${onPlace(place)}: >> "$t" || exit 1
dd of="$t" bs=65536 seek=${offset} oflag=seek_bytes conv=notrunc status=none || exit 1
${intoPlace(place)}`;

/** Prints the bytes from `offset` to `most`; reports size, mode and sha256. Leaves out bytes that a growing file gets later. */
export const getScript = (path: string, offset: number, most: number): string => `${WORDS}p=${path}
[ ! -d "$p" ] || fail 'is a folder'
[ -f "$p" ] || fail 'there is no such file'
n=$(length "$p") || exit 1
[ "$n" -le ${most} ] || n=${most}
say "$n $(stat -L -c %a "$p") $(head -c "$n" "$p" | sha256sum | cut -c 1-64)"
${PRINT_MARK}
tail -c +${offset + 1} "$p" | head -c $((n - ${offset}))`;

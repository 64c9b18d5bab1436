/** The patterns by which PyYAML (YAML 1.1) tells the sorts of plain scalars apart; whatever none of them takes is a text. */
const BOOLEAN = /^(?:(yes|Yes|YES|true|True|TRUE|on|On|ON)|no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const NOTHING = /^(?:~|null|Null|NULL|)$/;
const INTEGER = /^([-+]?)(?:0b([01_]+)|0x([\da-fA-F_]+)|0([0-7_]+)|(0|[1-9][\d_]*)|([1-9][\d_]*(?::[0-5]?\d)+))$/;
const FLOAT =
  /^[-+]?(?:\d[\d_]*\.[\d_]*(?:[eE][-+]\d+)?|\.\d[\d_]*(?:[eE][-+]\d+)?|\d[\d_]*(?::[0-5]?\d)+\.[\d_]*|\.(?:inf|Inf|INF|nan|NaN|NAN))$/;
const TIME =
  /^(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.(\d*))?[ \t]*(?:(Z)|([-+])(\d\d?)(?::?(\d\d))?)?$/;

export interface PythonScalar {
  readonly value: string | number | boolean | null;
  /** The text that Python's `str` makes of it and a program finds in its environment. Undefined: there is no value. */
  readonly text?: string;
}

/** A plain scalar as tools in Python read it: `1e-5` is a text, `0x1F` is 31, `yes` is True. */
export function pythonScalar(source: string): PythonScalar {
  const boolean = BOOLEAN.exec(source);
  if (boolean !== null) return { value: boolean[1] !== undefined, text: boolean[1] === undefined ? 'False' : 'True' };
  if (NOTHING.test(source)) return { value: null };
  const integer = INTEGER.exec(source);
  if (integer !== null) return ofInteger(integer);
  if (FLOAT.test(source)) return ofFloat(source);
  const time = TIME.exec(source);
  return { value: source, text: time === null ? source : ofTime(time) };
}

const plain = (digits: string): string => digits.replaceAll('_', '');

function ofInteger([, sign = '', binary, hex, octal, decimal, sixties]: RegExpExecArray): PythonScalar {
  const prefixed = [
    ['0b', binary],
    ['0x', hex],
    ['0o', octal],
    ['', decimal],
  ] as const;
  const [prefix, digits = '0'] = prefixed.find(([, found]) => found !== undefined) ?? ['', '0'];
  const size = sixties === undefined ? BigInt(`${prefix}${plain(digits) || '0'}`) : BigInt(inSixties(sixties));
  const text = String(sign === '-' ? -size : size);
  // A number that JavaScript would round stays a text.
  return { value: Number.isSafeInteger(Number(text)) ? Number(text) : text, text };
}

function ofFloat(source: string): PythonScalar {
  const [sign, size] = /^[-+]/.test(source) ? [source.slice(0, 1), source.slice(1)] : ['', source];
  if (/inf$/i.test(size)) return { value: source, text: sign === '-' ? '-inf' : 'inf' };
  if (/nan$/i.test(size)) return { value: source, text: 'nan' };
  const value = size.includes(':') ? inSixties(size) : Number(plain(size));
  return { value: sign === '-' ? -value : value, text: `${sign === '-' ? '-' : ''}${shownFloat(value)}` };
}

/** Reads `12:30:00` as 45000. */
const inSixties = (text: string): number =>
  plain(text)
    .split(':')
    .reduce((sum, part) => sum * 60 + Number(part), 0);

/** A positive float as Python writes it: `1e-05`, `0.0001`, `1.0`. */
function shownFloat(value: number): string {
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power < -4 || power >= 16) return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

function ofTime([, year = '', ...parts]: RegExpExecArray): string {
  const [month, day, hour, minute, second] = parts.slice(0, 5).map((part) => part.padStart(2, '0'));
  const [fraction = '', isUtc, sign, hours, minutes = '00'] = parts.slice(5) as (string | undefined)[];
  const shown = /[1-9]/.test(fraction) ? `.${fraction.slice(0, 6).padEnd(6, '0')}` : '';
  const zone =
    isUtc !== undefined ? '+00:00' : hours === undefined ? '' : `${sign}${hours.padStart(2, '0')}:${minutes}`;
  return `${year}-${month}-${day} ${hour}:${minute}:${second}${shown}${zone}`;
}

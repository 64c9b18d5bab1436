import { shortHash } from '../../content-hash.js';

/** RFC 1123 label: namespaces, hostnames. */
export const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
export const DNS_LABEL_RULE = 'small letters, digits and dashes; 63 at most';

/** RFC 1123 subdomain: most objects. */
export const OBJECT_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
export const OBJECT_NAME_RULE = 'small letters, digits, dashes and dots; 253 at most';

/** A positive quantity of Kubernetes (apimachinery's resource.Quantity without exponents). */
const QUANTITY = /^(\d+(?:\.\d+)?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/;
export const QUANTITY_RULE = 'a number with m, k, M, G, T, Ki, Mi, Gi or Ti, such as 4, 500m or 64Gi';

export const isQuantity = (text: string): boolean => Number(QUANTITY.exec(text)?.[1] ?? 0) > 0;

/** Returns a number of CPUs, such as 0.5 for `500m`. @throws RangeError for a text that is not a quantity of CPUs */
export function cpusOf(quantity: string): number {
  const [, number, suffix = ''] = QUANTITY.exec(quantity) ?? [];
  const factor = { '': 1, m: 0.001, k: 1000 }[suffix];
  if (number === undefined || factor === undefined) throw new RangeError(`cpus: '${quantity}' is no number of CPUs`);
  return Number(number) * factor;
}

/** The hostname of a pod is `<Job>-<index>`, a label of 63 characters: this leaves room for `-9999`. */
const MOST_CHARACTERS = 58;

/** The name of a slice's objects: the slice's own, or if that is too long, its front and a hash of it. */
export function objectName(name: string, mostCharacters = MOST_CHARACTERS): string {
  if (name.length <= mostCharacters) return name;
  const hash = shortHash(name);
  return `${name.slice(0, mostCharacters - hash.length - 1).replace(/(?<!-)-+$/, '')}-${hash}`;
}

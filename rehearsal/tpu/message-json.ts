import protobuf from 'protobufjs';
import type { JsonObject, JsonValue } from '../json.js';
import { isObject } from '../json.js';
import type { FieldViolation } from './api-error.js';
import { readScalar } from './scalar-json.js';

export interface Form {
  /** Treatment of fields that the protos lack: Google's newer ones, which its own tools know. */
  readonly unknown: 'keep' | 'drop';
  readonly enums: 'names' | 'numbers';
  /** `serializer`: an Any of a well-known type in the form that proto3-json-serializer wants. */
  readonly form?: 'serializer';
}

export interface Conformed {
  /** Canonical proto3 JSON: lowerCamelCase, 64-bit integers as strings. Without the fields in `violations`. */
  readonly json: JsonObject;
  /** With the texts of Google's front end. */
  readonly violations: readonly FieldViolation[];
}

/**
 * Converts a message's JSON to one form, from any form that proto3 JSON allows: field names in either spelling, enums as numbers,
 * integers as text.
 * @param path of the message in its request, for violations
 */
export function conform(root: protobuf.Root, type: protobuf.Type, json: JsonObject, form: Form, path = ''): Conformed {
  const walk = new Walk(root, form);
  return { json: walk.message(type, json, path), violations: walk.violations };
}

class Walk {
  readonly violations: FieldViolation[] = [];
  readonly #root: protobuf.Root;
  readonly #form: Form;

  constructor(root: protobuf.Root, form: Form) {
    this.#root = root;
    this.#form = form;
  }

  message(type: protobuf.Type, json: JsonObject, path: string): JsonObject {
    const entries = Object.entries(json).flatMap(([key, value]) => {
      // null means that the field is not set.
      if (value === undefined || value === null) return [];
      const field = fieldOf(type, key);
      const read = field === undefined ? this.#unknown(value) : this.#field(field, value, path);
      return read === undefined ? [] : [[field?.name ?? key, read] as const];
    });
    // Not by assignment: a field called __proto__ must be an ordinary field.
    const found: JsonObject = Object.fromEntries(entries);
    this.#checkOneofs(type, found, path);
    return found;
  }

  #unknown(value: JsonValue): JsonValue | undefined {
    return this.#form.unknown === 'keep' ? value : undefined;
  }

  #field(field: protobuf.Field, value: JsonValue, at: string): JsonValue | undefined {
    const path = joined(at, protoName(field.name));
    if (field instanceof protobuf.MapField) return this.#map(field, value, path);
    if (field.repeated) {
      // Google's parser accepts one value in place of a list of one.
      const items = (Array.isArray(value) ? value : [value]) as readonly JsonValue[];
      const read = items.map((item, index) =>
        this.#single(field, item, Array.isArray(value) ? `${path}[${index}]` : path),
      );
      return read.filter((item) => item !== undefined);
    }
    if (!Array.isArray(value)) return this.#single(field, value, path);
    const where = at === '' ? '' : ` at '${at}'`;
    const text = `Invalid JSON payload received. Unknown name "${field.name}"${where}: Proto field is not repeating, cannot start list.`;
    this.#violate(at, text);
    return undefined;
  }

  #map(field: protobuf.MapField, value: JsonValue, path: string): JsonValue | undefined {
    if (!isObject(value)) return this.#invalid(path, typeLabel(field), shown(value));
    const entries = Object.entries(value).map(([key, item], index) => {
      return [key, this.#single(field, item ?? null, `${path}[${index}].value`)] as const;
    });
    return Object.fromEntries<JsonValue | undefined>(entries.filter(([, item]) => item !== undefined));
  }

  #single(field: protobuf.FieldBase, value: JsonValue, path: string): JsonValue | undefined {
    const type = field.resolvedType;
    if (type instanceof protobuf.Enum) return this.#enum(type, value, path);
    if (type instanceof protobuf.Type && !isScalarInJson(type)) {
      if (!isObject(value)) return this.#invalid(path, typeLabel(field), shown(value));
      return type.fullName === '.google.protobuf.Any' ? this.#any(value, path) : this.message(type, value, path);
    }
    const label = typeLabel(field);
    if (typeof value === 'object') return this.#invalid(path, label, 'Starting an object on a scalar field');
    const read = readScalar(type?.fullName ?? field.type, value);
    if (read.kind === 'value') return read.value;
    return this.#invalid(path, label, read.why === undefined ? shown(value) : `Field '${field.name}', ${read.why}`);
  }

  /** Canonical is the name; a number that the protos lack is refused like an unknown name. */
  #enum(type: protobuf.Enum, value: JsonValue, path: string): JsonValue | undefined {
    const number = typeof value === 'number' ? value : type.values[String(value)];
    const name = number === undefined ? undefined : type.valuesById[number];
    if (number === undefined || name === undefined)
      return this.#invalid(path, `type.googleapis.com/${type.fullName.slice(1)}`, shown(value));
    return this.#form.enums === 'names' ? name : number;
  }

  #any(value: JsonObject, path: string): JsonObject | undefined {
    const url = String(value['@type'] ?? '');
    const type = this.#root.lookup(`.${url.slice(url.lastIndexOf('/') + 1)}`);
    if (!(type instanceof protobuf.Type)) return this.#form.unknown === 'keep' ? value : undefined;
    const isWellKnown = type.fullName.startsWith('.google.protobuf.');
    if (isWellKnown) return this.#form.form === 'serializer' ? { '@type': url, value: value['value'] ?? {} } : value;
    return { '@type': url, ...this.message(type, { ...value, '@type': undefined }, path) };
  }

  #checkOneofs(type: protobuf.Type, found: JsonObject, path: string): void {
    for (const oneof of type.oneofsArray) {
      const [, second] = oneof.oneof.filter((name) => found[name] !== undefined);
      if (second === undefined) continue;
      const text = `oneof field '${protoName(oneof.name)}' is already set. Cannot set '${second}'`;
      this.#violate(path, `Invalid value at '${path}' (oneof), ${text}`);
    }
  }

  #invalid(path: string, label: string, what: string): undefined {
    this.#violate(path, `Invalid value at '${path}' (${label}), ${what}`);
    return undefined;
  }

  #violate(field: string, description: string): void {
    this.violations.push({ field, description });
  }
}

/** Finds a field by its JSON name or its name in the proto file. */
export function fieldOf(type: protobuf.Type, key: string): protobuf.Field | undefined {
  const spellings = [key, key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())];
  const name = spellings.find((spelling) => Object.hasOwn(type.fields, spelling));
  return name === undefined ? undefined : type.fields[name];
}

/** `nodeSpec` -> `node_spec`: the client's protos carry JSON names. */
export function protoName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function isScalarInJson({ fullName }: protobuf.Type): boolean {
  return ['.google.protobuf.Timestamp', '.google.protobuf.Duration', '.google.protobuf.FieldMask'].includes(fullName);
}

function typeLabel(field: protobuf.FieldBase): string {
  if (field.resolvedType !== null) return `type.googleapis.com/${field.resolvedType.fullName.slice(1)}`;
  return `TYPE_${field.type.toUpperCase()}`;
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function shown(value: JsonValue): string {
  return JSON.stringify(value);
}

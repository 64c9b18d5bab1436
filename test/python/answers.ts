import { z } from 'zod';

interface Shape {
  /** Of a value that may be null: its type and `null`. */
  readonly type?: string | readonly [string, 'null'];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly contentEncoding?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly items?: Shape;
  readonly additionalProperties?: Shape | boolean;
}

/** The JSON Schema of what a schema gives, without references. */
export function shapeOf(schema: z.ZodType): Shape {
  const whole = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' });
  const inlined = JSON.stringify(whole, (_, value: unknown) => {
    const [, name] = /^#\/\$defs\/(.+)$/.exec((value as { $ref?: string } | null)?.$ref ?? '') ?? [];
    return name === undefined ? value : whole.$defs?.[name];
  });
  return JSON.parse(inlined) as Shape;
}

/** An answer of this form: with every key, or with those alone that are always there. */
export function answerOf(shape: Shape, keys: 'all' | 'required'): unknown {
  if (shape.const !== undefined) return shape.const;
  if (shape.enum !== undefined) return shape.enum[0];
  if (typeof shape.type === 'object') return answerOf({ ...shape, type: shape.type[0] }, keys);
  switch (shape.type) {
    case 'string':
      return shape.contentEncoding === 'base64' ? 'AAH/' : 'text';
    case 'integer':
    case 'number':
      return 1_795_000_000_123;
    case 'boolean':
      return true;
    case 'array':
      return [answerOf(shape.items ?? {}, keys), answerOf(shape.items ?? {}, 'required')];
    case 'object':
      return answerOfObject(shape, keys);
    default:
      return { any: ['value'] };
  }
}

function answerOfObject({ properties = {}, required = [], additionalProperties }: Shape, keys: 'all' | 'required') {
  const chosen = Object.entries(properties).filter(([key]) => keys === 'all' || required.includes(key));
  const named = Object.fromEntries(chosen.map(([key, shape]) => [key, answerOf(shape, keys)]));
  const isRecord = Object.keys(properties).length === 0 && typeof additionalProperties === 'object';
  return isRecord ? { 'any-key': answerOf(additionalProperties, keys) } : named;
}

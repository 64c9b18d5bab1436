import { MOST_UNITS } from '../../domain/units.js';

const byType = (amount: object, description: string): object => ({
  type: 'object',
  propertyNames: { pattern: '^[A-Za-z0-9][\\w.-]*$' },
  additionalProperties: amount,
  description,
});

const tier = byType(
  { type: 'integer', minimum: 0, maximum: MOST_UNITS },
  "Units by type: the number in the type's own name, so a v4-8 is 8.",
);
const shares = byType({ type: 'number', minimum: 0 }, 'Shares of the pool by type: 0.6 is 60 %.');
const patterns = {
  type: 'array',
  items: { type: 'string', maxLength: 1000 },
  description: 'Regular expressions in RE2 syntax; each matches the whole user id.',
};

/** The form of a quota file as JSON Schema (draft 2020-12), for editors. The decision is made by quota-file.ts. */
export function quotaFileJsonSchema(): Record<string, unknown> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'jobctl quota file',
    type: 'object',
    required: ['toml-schema', 'total_resources', 'project_membership', 'project_resources'],
    additionalProperties: false,
    properties: {
      'toml-schema': {
        type: 'object',
        required: ['version'],
        additionalProperties: false,
        properties: { version: { const: '1', description: 'The text "1".' } },
      },
      total_resources: {
        anyOf: [tier, { type: 'array', items: tier }],
        description: 'What the pool has: one table, or [[total_resources]] for each tier, best first.',
      },
      project_membership: {
        type: 'object',
        additionalProperties: patterns,
        description: 'Who may submit to which project.',
      },
      project_resources: {
        type: 'object',
        additionalProperties: shares,
        description: 'What of the pool is whose nominal quota.',
      },
    },
  };
}

import type { ErrorCode } from '../errors.ts';
import { ref } from './build.ts';
import { OWNER_HEADER } from './headers.ts';
import { COMMON_PARAMETERS, OWNER_PARAMETERS, scoped, SCOPED_CODES } from './parameters.ts';
import { answers, nameExamples, refusals } from './replies.ts';
import type { Json, Operation, Parameter } from './types.ts';

type OwnerRoute = Pick<Operation, 'operationId' | 'summary' | 'description' | 'tags'> & {
  scope: string;
  /** What the success means, the schema or schemas it has, and examples. */
  returns: [string, string | readonly string[], Record<string, Json>];
  /** 200 unless said otherwise. */
  status?: 201 | 202;
  /** The schema of the body, and examples. */
  takes?: [string, Record<string, Json>];
  parameters?: readonly Parameter[];
  codes?: readonly ErrorCode[];
};

/** A route for one owner's rows that answers with JSON. */
export function ownerRoute({
  scope,
  returns: [means, names, examples],
  status,
  takes,
  parameters = [],
  codes = [],
  ...rest
}: OwnerRoute): Operation {
  const schema = typeof names === 'string' ? ref(names) : { anyOf: names.map(ref) };
  return {
    ...rest,
    security: scoped(scope),
    parameters: [...parameters, ...OWNER_PARAMETERS, ...COMMON_PARAMETERS],
    ...(takes === undefined ? {} : { requestBody: jsonBody(takes) }),
    responses: {
      [status ?? 200]: answers(means, schema, examples, OWNER_HEADER),
      ...refusals([...SCOPED_CODES, ...codes]),
    },
  };
}

function jsonBody([name, examples]: [string, Record<string, Json>]): NonNullable<Operation['requestBody']> {
  return {
    required: true,
    content: { 'application/json': { schema: ref(name), examples: nameExamples(examples) } },
  };
}

export function idParameter(description: string): Parameter {
  return { name: 'id', in: 'path', required: true, description, schema: { type: 'string' } };
}

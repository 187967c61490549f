import { ERRORS, type ErrorCode } from '../errors.ts';
import { ref } from './build.ts';
import { COMMON_HEADERS, ERROR_HEADERS } from './headers.ts';
import type { Example, Header, Json, Reply, Schema } from './types.ts';

type Headers = Record<string, Header>;

/** A successful response with a JSON body. */
export function answers(
  description: string,
  schema: Schema,
  examples: Record<string, Json>,
  headers: Headers = {},
): Reply {
  return {
    description,
    headers: { ...COMMON_HEADERS, ...headers },
    content: { 'application/json': { schema, examples: nameExamples(examples) } },
  };
}

export function nameExamples(values: Record<string, Json>): Record<string, Example> {
  return Object.fromEntries(Object.entries(values).map(([name, value]): [string, Example] => [name, { value }]));
}

/** The responses of these codes, one for each status; every code is an example under its own name. */
export function refusals(
  codes: readonly ErrorCode[],
  headersOf: (status: number) => Headers = () => ({}),
): Record<string, Reply> {
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  const replies = [...byStatus].map(([status, sharers]): [string, Reply] => [
    String(status),
    refusal(status, sharers, headersOf(status)),
  ]);
  return Object.fromEntries(replies);
}

/** One error response: the flat body of spec 7 with one of these codes. */
export function refusal(status: number, codes: readonly ErrorCode[], headers: Headers = {}): Reply {
  const described = codes.map((code) => `${code}: ${ERRORS[code].means}`);
  return {
    description: described.join(' '),
    headers: { ...COMMON_HEADERS, ...ERROR_HEADERS[status], ...headers },
    content: {
      'application/json': {
        schema: ref('Error'),
        examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
      },
    },
  };
}

function exampleOf(code: ErrorCode): Example {
  return {
    summary: ERRORS[code].retryable ? 'Try again with backoff.' : 'Final for this request.',
    value: {
      code,
      error: ERRORS[code].means,
      request_id: 'req_01j00000000000000000000000',
      docs_url: `https://search.example/docs#${code}`,
      ...(code === 'VALIDATION_FAILED'
        ? { details: [{ path: 'regions[0].country', message: 'regions[0].country is required' }] }
        : {}),
    },
  };
}

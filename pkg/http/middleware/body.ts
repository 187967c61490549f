import express from 'express';
import { invalid, jsonDepthExceeds, type ServiceError } from '../../contract/index.ts';
import type { Middleware } from '../context.ts';

/** Deeper JSON has no use here, and recursion over it may end the process. */
const MAX_DEPTH = 32;

/** Reads a JSON body into `response.locals.body`. Anything else is `VALIDATION_FAILED`, as design's routing order says. */
export function readJson(limitBytes: number): Middleware[] {
  return [
    (request, response, next) => {
      if (request.is('application/json') === false) {
        next(refuse('the body must be sent with content type application/json'));
        return;
      }
      next();
    },
    // Bytes, whatever their type: what they must be is checked above and below, with our own words.
    express.raw({ type: () => true, limit: limitBytes }),
    (request, response, next) => {
      const bytes: unknown = request.body;
      response.locals['body'] = parse(Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0));
      next();
    },
  ];
}

function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) throw refuse('the body must be a JSON object; it is empty');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw refuse(`the body must be UTF-8: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (jsonDepthExceeds(text, MAX_DEPTH)) throw refuse(`the body nests deeper than ${MAX_DEPTH} levels`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refuse(`the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The refusal of a body that could not be read; null when the error is not of reading a body. */
export function describeReadFailure(error: unknown): ServiceError | null {
  if (!(error instanceof Error) || !('type' in error) || typeof error.type !== 'string') return null;
  if (error.type !== 'entity.too.large') return refuse(`the body can't be read: ${error.message}`);
  const limit = 'limit' in error && typeof error.limit === 'number' ? error.limit : 0;
  return refuse(`the body must be at most ${limit / 1024 / 1024} MiB`);
}

function refuse(message: string): ServiceError {
  return invalid([{ path: '', message }]);
}

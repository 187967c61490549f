import express from 'express';
import { invalid, jsonDepthExceeds, type ServiceError } from '../../contract/index.ts';
import type { Middleware } from '../context.ts';

/** Deeper JSON has no use here, and recursion over it may end the process. */
const MAX_DEPTH = 32;

/** Reads a JSON body into `response.locals.body`. Anything else is `VALIDATION_FAILED`, as design's routing order says. */
export function readJson(limitBytes: number): Middleware[] {
  // Bytes, whatever their type: what they must be is checked before and after, with our own words.
  const readBytes: Middleware = express.raw({ type: () => true, limit: limitBytes });
  return [
    (request, response, next) => {
      if (request.is('application/json') === false) {
        next(refuse('the body must be sent with content type application/json'));
        return;
      }
      next();
    },
    (request, response, next) => {
      readBytes(request, response, (error?: unknown) =>
        next(error === undefined ? undefined : describe(error, limitBytes)),
      );
    },
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

/** A body that can't be read, broken compression included, is the sender's fault unless the reader says it is ours. */
function describe(error: unknown, limitBytes: number): unknown {
  if (!(error instanceof Error) || !('status' in error) || Number(error.status) >= 500) return error;
  if ('type' in error && error.type === 'entity.too.large')
    return refuse(`the body must be at most ${limitBytes / 1024 / 1024} MiB`);
  return refuse(`the body can't be read: ${error.message}`);
}

function refuse(message: string): ServiceError {
  return invalid([{ path: '', message }]);
}

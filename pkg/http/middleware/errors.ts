import type { ErrorRequestHandler, Response } from 'express';
import { ServiceError, type ErrorBody } from '../../contract/index.ts';
import type { Logger } from '../../telemetry/index.ts';

/** The one place where an error becomes a response: the flat body of spec 7, whatever was thrown. */
export function answerErrors(options: { log: Logger; publicBaseUrl: string }): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    const known = translate(error);
    if (known.status >= 500) {
      options.log.error(
        { err: error, method: request.method, path: request.path, requestId: response.get('X-Request-Id') },
        'Request failed',
      );
    }
    // Half a response can't become an error: the connection is cut instead.
    if (response.headersSent) next(error);
    else sendError(response, known, options.publicBaseUrl);
  };
}

export function sendError(response: Response, error: ServiceError, publicBaseUrl: string): void {
  response.set(error.headers);
  if (error.status === 401) response.set('WWW-Authenticate', 'Bearer');
  response.status(error.status).json(describeError(error, response.get('X-Request-Id') ?? '', publicBaseUrl));
}

export function describeError(error: ServiceError, requestId: string, publicBaseUrl: string): ErrorBody {
  return {
    code: error.code,
    error: error.message,
    request_id: requestId,
    docs_url: `${publicBaseUrl}/docs#${error.code}`,
    ...(error.details === undefined ? {} : { details: error.details }),
  };
}

function translate(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  // A path that can't be decoded names nothing.
  if (error instanceof URIError) return new ServiceError('NOT_FOUND');
  return new ServiceError('INTERNAL_ERROR', undefined, { cause: error });
}

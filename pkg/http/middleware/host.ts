import { ServiceError } from '../../contract/index.ts';
import type { Middleware } from '../context.ts';

/** HTTP/1.1 has a Host header (RFC 9112, 3.2). Node would say so itself, without our headers and error body. */
export const requireHost: Middleware = (request, _response, next) => {
  if (request.httpVersion === '1.1' && request.get('host') === undefined)
    throw new ServiceError('VALIDATION_FAILED', 'the header Host is required');
  next();
};

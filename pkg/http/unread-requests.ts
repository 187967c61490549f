import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { newId, SCHEMA_VERSION, ServiceError } from '../contract/index.ts';
import type { Clock } from '../runtime/index.ts';
import { describeError } from './middleware/errors.ts';

/** Every method that some path takes. */
const METHODS = 'GET, HEAD, POST, PATCH, DELETE';

type UnreadRequestDeps = { clock: Clock; publicBaseUrl: string };

/**
 * Requests that Node can't read, or will not pass on, never reach the routes. They, too, get an id, the version and the
 * flat error body (spec 4, 7). To be used with a server that does not check the Host header itself.
 */
export function answerUnreadRequests(server: Server, deps: UnreadRequestDeps): void {
  const responses = new WeakMap<Duplex, ServerResponse>();
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    responses.set(request.socket, response);
  });
  // What else is expected than 100-continue may be passed over (RFC 9110, 10.1.1).
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
  server.on('clientError', (error: Error, socket: Duplex) => {
    const response = responses.get(socket);
    // Into a response that has begun nothing else may be written: the connection is cut instead.
    const isBusy = response?.headersSent === true && !response.writableFinished;
    if (isBusy || !socket.writable || codeOf(error) === 'ECONNRESET') socket.destroy();
    else socket.end(render(explain(error), deps), () => socket.destroy());
  });
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function explain(error: Error): ServiceError {
  switch (codeOf(error)) {
    case 'HPE_INVALID_METHOD':
      return new ServiceError('METHOD_NOT_ALLOWED', `No path takes this method; there are ${METHODS}.`, {
        headers: { Allow: METHODS },
      });
    case 'HPE_HEADER_OVERFLOW':
      return new ServiceError('VALIDATION_FAILED', 'the path and the headers must be at most 16 KiB together');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ServiceError('VALIDATION_FAILED', 'the request did not arrive in time');
    default:
      return new ServiceError('VALIDATION_FAILED', `the request is not HTTP: ${error.message}`);
  }
}

function render(error: ServiceError, { clock, publicBaseUrl }: UnreadRequestDeps): string {
  const requestId = newId('req', clock.nowMs());
  const body = JSON.stringify(describeError(error, requestId, publicBaseUrl));
  const headers = {
    'X-Request-Id': requestId,
    'X-Service-Version': SCHEMA_VERSION,
    ...error.headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}\r\n${head.join('')}\r\n${body}`;
}

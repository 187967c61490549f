import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sendRaw } from '../support/raw-http.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { closeServer, portOf, startListening } from '../../pkg/telemetry/index.ts';
import { answerUnreadRequests } from '../../pkg/http/index.ts';

let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer({ requireHostHeader: false }, (request, response) => {
    // The first half of an answer, whose second half never comes.
    if (request.url === '/begun') response.writeHead(200, { 'content-length': '100' }).write('begun');
    else if (request.url === '/read') request.resume().on('end', () => response.end('read'));
    else response.end('answered');
  });
  answerUnreadRequests(server, { clock: systemClock, publicBaseUrl: 'https://search.example' });
  await startListening(server, '127.0.0.1', 0);
  url = `http://127.0.0.1:${portOf(server)}`;
});
afterAll(() => closeServer(server, 100));

const rest = 'Host: x\r\nConnection: close\r\n\r\n';

describe('a request that Node can not read', () => {
  it.each([
    ['an unknown method', `BREW /v1/jobs HTTP/1.1\r\n${rest}`, 405, 'METHOD_NOT_ALLOWED', 'GET'],
    ['a space in its path', `GET /v1/jo bs HTTP/1.1\r\n${rest}`, 400, 'VALIDATION_FAILED', 'not HTTP'],
    ['a path that is too long', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n${rest}`, 400, 'VALIDATION_FAILED', '16 KiB'],
    ['too many headers', `GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n${rest}`, 400, 'VALIDATION_FAILED', '16 KiB'],
    [
      'two lengths',
      `POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n${rest}`,
      400,
      'VALIDATION_FAILED',
      '',
    ],
    [
      'a broken chunk',
      `POST /read HTTP/1.1\r\nTransfer-Encoding: chunked\r\n${rest}zz\r\n`,
      400,
      'VALIDATION_FAILED',
      '',
    ],
  ])('as it has %s gets the headers and the body of every error', async (_, request, status, code, word) => {
    const answer = await sendRaw(url, request);
    const id = answer.headers.get('x-request-id');
    expect(id).toMatch(/^req_/);
    expect(answer.headers.get('x-service-version')).toBe('2026-06-27');
    expect(answer.headers.has('allow')).toBe(status === 405);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body)).toEqual({
      code,
      error: expect.stringContaining(word),
      request_id: id,
      docs_url: `https://search.example/docs#${code}`,
    });
  });

  it('gets no second answer inside one that has begun', async () => {
    const { status, body } = await sendRaw(url, 'GET /begun HTTP/1.1\r\nHost: x\r\n\r\n', 'nonsense\r\n\r\n');
    expect({ status, body }).toEqual({ status: 200, body: 'begun' });
  });
});

it('passes over an expectation that it does not know', async () => {
  expect(await sendRaw(url, `GET / HTTP/1.1\r\nExpect: miracles\r\n${rest}`)).toMatchObject({
    status: 200,
    body: 'answered',
  });
});

import type { Dispatcher } from 'undici';

export type PostRequest = {
  url: URL;
  headers: Record<string, string>;
  body: Uint8Array;
  /** Ends the whole exchange. */
  signal: AbortSignal;
  maxResponseBytes: number;
};

export type PostAnswer = { status: number; retryAfter: string | undefined };

/**
 * POSTs once. The name of the URL is used for Host and certificate only; where it goes is the dispatcher's business.
 * Redirects are answers like any other. Throws when no answer came before `signal` or a limit.
 */
export async function postOnce(dispatcher: Dispatcher, request: PostRequest): Promise<PostAnswer> {
  const { url, headers, body, signal, maxResponseBytes } = request;
  const answer = await dispatcher.request({
    origin: url.origin,
    method: 'POST',
    path: url.pathname + url.search,
    headers,
    body,
    signal,
  });
  const retryAfter = answer.headers['retry-after'];
  await readUpTo(answer.body, maxResponseBytes);
  return { status: answer.statusCode, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined };
}

/**
 * Reads a little, so that a receiver is not cut off while it still writes, and so that the connection can be used again.
 * The status has decided already: a body that is too long, too slow or torn changes nothing, and costs the connection.
 */
async function readUpTo(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
      // Leaving the loop before the end destroys the body, and with it the connection.
      if (bytes >= maxBytes) return;
    }
  } catch {
    return;
  }
}

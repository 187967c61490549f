import type { Dispatcher } from 'undici';

export type PostRequest = {
  url: URL;
  headers: Record<string, string>;
  body: Uint8Array;
  /** Of the whole exchange, connecting included. */
  timeoutMs: number;
  maxResponseBytes: number;
};

export type PostAnswer = { status: number; retryAfter: string | undefined };

/** The receiver said nothing in time. */
export class LateError extends Error {}

/**
 * POSTs once. The name of the URL is used for Host and certificate only; where it goes is the dispatcher's business.
 * Redirects are answers like any other. Rejects when no status came in time.
 *
 * A little of the answer's body is read, so that a receiver is not cut off while it still writes, and so that the
 * connection can be used again. The status has decided already: a body that is too long, too slow or torn changes
 * nothing, and costs the connection.
 */
export function postOnce(dispatcher: Dispatcher, request: PostRequest): Promise<PostAnswer> {
  const { url, headers, body, timeoutMs, maxResponseBytes } = request;
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let answer: PostAnswer | undefined;
    let bytes = 0;
    let ended = false;

    const end = (error?: Error): void => {
      ended = true;
      clearTimeout(timer);
      if (answer !== undefined) resolve(answer);
      else reject(error ?? new Error('the answer has no status'));
    };
    const cut = (error: Error): void => {
      end(error);
      controller?.abort(error);
    };
    const timer = setTimeout(() => cut(new LateError(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);

    dispatcher.dispatch(
      { origin: url.origin, method: 'POST', path: url.pathname + url.search, headers, body },
      {
        onRequestStart: (started) => {
          controller = started;
          // The time may be over before there was a connection.
          if (ended) started.abort(new LateError('not sent in time'));
        },
        onResponseStart: (_controller, status, received) => {
          if (status < 200) return;
          const retryAfter = received['retry-after'];
          answer = { status, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined };
        },
        onResponseData: (_controller, chunk) => {
          bytes += chunk.length;
          if (bytes >= maxResponseBytes) cut(new Error('the answer is long enough'));
        },
        onResponseEnd: () => end(),
        onResponseError: (_controller, error) => end(error),
      },
    );
  });
}

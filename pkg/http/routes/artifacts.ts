import type { Request } from 'express';
import { readArtifact } from '../../artifacts/index.ts';
import type { ApiDeps, Route } from '../context.ts';

/**
 * A proof page is a stranger's page: it gets no script, no request, no cookie and no origin of ours, wherever it is
 * opened.
 */
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'private, no-cache',
};

export function artifactRoutes(deps: ApiDeps): Route[] {
  return [
    {
      method: 'get',
      path: '/v1/artifacts/*key',
      access: 'artifacts:read',
      handle: async ({ request, response, owner }) => {
        const ifNoneMatch = request.get('if-none-match');
        const found = await readArtifact(
          { db: deps.db, store: deps.artifacts },
          owner.accountId,
          readKey(request),
          (sha256) => matches(ifNoneMatch, sha256),
        );
        response.set({ ...HEADERS, ETag: `"${found.sha256}"` });
        if ('unchanged' in found) {
          response.status(304).end();
          return;
        }
        // The length is set by hand: a HEAD has no body to take it from.
        response
          .set('Content-Type', found.contentType)
          .set('Content-Length', String(found.bytes.byteLength))
          .set('Content-Disposition', 'inline')
          .end(Buffer.from(found.bytes));
      },
    },
  ];
}

/** The key may come with its slashes encoded, as in the Envelope, or plain. */
function readKey(request: Request): string {
  const key: unknown = request.params['key'];
  return Array.isArray(key) ? key.join('/') : String(key);
}

function matches(ifNoneMatch: string | undefined, sha256: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === `"${sha256}"`);
}

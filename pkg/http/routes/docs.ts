import { buildOpenApi } from '../../contract/index.ts';
import type { ApiDeps, Route } from '../context.ts';
import { renderDocs } from '../docs-page.ts';

const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

/** The contract for machines and for people; `docs_url` of every error leads into the page. */
export function docsRoutes({ publicBaseUrl }: Pick<ApiDeps, 'publicBaseUrl'>): Route[] {
  const document = buildOpenApi(publicBaseUrl);
  const page = renderDocs(document);
  return [
    {
      method: 'get',
      path: '/openapi.json',
      access: 'public',
      handle: ({ response }) => {
        // Client generators and viewers in a browser may read it from anywhere: it holds no secret.
        response.set('Access-Control-Allow-Origin', '*').json(document);
        return Promise.resolve();
      },
    },
    {
      method: 'get',
      path: '/docs',
      access: 'public',
      handle: ({ response }) => {
        response.set(PAGE_HEADERS).type('html').send(page);
        return Promise.resolve();
      },
    },
  ];
}

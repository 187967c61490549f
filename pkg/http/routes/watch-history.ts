import type { Response } from 'express';
import { encodePlaceCursor, parseChangeListQuery, parseExportQuery, type ExportFormat } from '../../contract/index.ts';
import { exportWatch, listChanges, requireWatch, writeExport } from '../../watches/index.ts';
import type { ApiDeps, Route } from '../context.ts';
import { sendJson } from '../owner.ts';

/** A client that takes nothing for so long is gone, or might as well be. */
const STALLED_MS = 60_000;

const CONTENT_TYPES: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

/** What a watch has found over time: what changed, and all of it as a file. */
export function watchHistoryRoutes({ db }: ApiDeps): Route[] {
  return [
    {
      method: 'get',
      path: '/v1/watches/:id/changes',
      access: 'watches:read',
      handle: async ({ request, response, owner }) => {
        const { limit, cursor } = parseChangeListQuery(request.query);
        const watchId = String(request.params['id']);
        // One more than asked tells whether there is a next page.
        const rows = await listChanges(db, { accountId: owner.accountId, watchId, limit: limit + 1, after: cursor });
        const page = rows.slice(0, limit);
        const last = rows.length > limit ? page.at(-1) : undefined;
        const nextCursor = last === undefined ? null : encodePlaceCursor(last.position);
        sendJson(response, owner, { items: page.map(({ change }) => change), nextCursor });
      },
    },
    {
      method: 'get',
      path: '/v1/watches/:id/export',
      access: 'watches:read',
      handle: async ({ request, response, owner }) => {
        const { format } = parseExportQuery(request.query);
        const watchId = String(request.params['id']);
        await requireWatch(db, owner.accountId, watchId);
        response.set({
          'Content-Type': CONTENT_TYPES[format],
          'Content-Disposition': `attachment; filename="${watchId}.${format}"`,
        });
        if (request.method === 'HEAD') response.end();
        else {
          const rows = exportWatch(db, owner.accountId, watchId);
          await untilClientLeaves(response, writeExport(rows, format, response));
        }
      },
    },
  ];
}

/** A client that leaves or stalls ends the reading, and is no error of ours. */
async function untilClientLeaves(response: Response, write: Promise<void>): Promise<void> {
  response.setTimeout(STALLED_MS, () => response.destroy());
  try {
    await write;
  } catch (error) {
    const left = error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
    if (!left) throw error;
  }
}

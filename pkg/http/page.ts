import { encodeCursor, type CursorPosition } from '../contract/index.ts';

/**
 * The body of a paged list (spec 4). `rows` is read with one row more than `limit`: that row tells that there is a next
 * page, and is not sent.
 */
export function toPage<Row extends CursorPosition>(
  rows: readonly Row[],
  limit: number,
): { items: Row[]; nextCursor: string | null } {
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, nextCursor: last === undefined ? null : encodeCursor({ createdAt: last.createdAt, id: last.id }) };
}

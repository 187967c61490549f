import type { IdPrefix } from '../ids.ts';
import { refuse } from './issues.ts';

/** The last row of a page. Lists order by `(createdAt, id)` descending, so it tells where the next page begins. */
export type CursorPosition = {
  /** ISO 8601 in UTC with milli- or microseconds: what the column holds, or rows are skipped or shown twice. */
  createdAt: string;
  id: string;
};

const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{3}(?:\d{3})?Z$/;
const ID = /^([a-z]+)_[0-9a-z]{26}$/;
const LONGEST_CURSOR = 200;

/** An opaque token for a position. Throws a plain error for a position that `decodeCursor` would refuse. */
export function encodeCursor({ createdAt, id }: CursorPosition): string {
  if (!isMoment(createdAt) || !ID.test(id)) throw new Error(`not a position in a list: ${createdAt} ${id}`);
  return Buffer.from(`${createdAt} ${id}`, 'utf8').toString('base64url');
}

/** Reads back a cursor of a list whose ids have this prefix; anything else is `VALIDATION_FAILED`. */
export function decodeCursor(cursor: string, prefix: IdPrefix): CursorPosition {
  const bytes = cursor.length > LONGEST_CURSOR ? Buffer.alloc(0) : Buffer.from(cursor, 'base64url');
  const [createdAt = '', id = '', ...rest] = bytes.toString('utf8').split(' ');
  // Buffer ignores what is no base64url, so only the spelling that we gave out is taken.
  const isOurs = bytes.toString('base64url') === cursor && rest.length === 0;
  if (!isOurs || !isMoment(createdAt) || ID.exec(id)?.[1] !== prefix) {
    throw refuse([{ path: 'cursor', message: 'cursor must be the nextCursor of an earlier page of the same list' }]);
  }
  return { createdAt, id };
}

/** A row of a list that has several rows, in a fixed order, for each row of another list. */
export type PlacePosition = CursorPosition & { /** From 0, among the rows of the same id. */ place: number };

/** An opaque token for such a position. */
export function encodePlaceCursor({ place, ...position }: PlacePosition): string {
  return Buffer.from(`${encodeCursor(position)} ${place}`, 'utf8').toString('base64url');
}

/** Reads it back; anything else is `VALIDATION_FAILED`. */
export function decodePlaceCursor(cursor: string, prefix: IdPrefix): PlacePosition {
  const bytes = Buffer.from(cursor.slice(0, LONGEST_CURSOR), 'base64url');
  const [, position = '', place = ''] = /^(\S+) (0|[1-9]\d{0,5})$/.exec(bytes.toString('utf8')) ?? [];
  const isOurs = bytes.toString('base64url') === cursor;
  return { ...decodeCursor(isOurs ? position : '', prefix), place: Number(place) };
}

/** A date that exists and that Postgres takes: `2026-02-30` has the right form, and is neither. */
function isMoment(text: string): boolean {
  const seconds = TIMESTAMP.exec(text)?.[1];
  if (seconds === undefined || seconds < '1970') return false;
  const ms = Date.parse(`${seconds}Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(seconds);
}

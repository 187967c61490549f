import { randomInt } from 'node:crypto';
import { ulid } from 'ulid';
import type { Surface } from './surfaces.ts';

export type IdPrefix = 'job' | 'watch' | 'wrun' | 'evt' | 'whsec' | 'acct' | 'key' | 'req';

/** A fresh id: its prefix and a lower-case ULID, so ids sort by the millisecond they were made in. */
export function newId(prefix: IdPrefix, nowMs: number): string {
  return `${prefix}_${ulid(nowMs, randomFraction).toLowerCase()}`;
}

// Sixteen draws make an id. Node draws these from a pool it fills at once; the library's own way asks the system each time.
function randomFraction(): number {
  return randomInt(256) / 256;
}

/** `<job>.<surface>.<region key>`; always three segments, as a region key holds no dot (spec 2.4). */
export function childId(jobId: string, surface: Surface, regionKey: string): string {
  return `${jobId}.${surface}.${regionKey}`;
}

const JOB_ID = /^job_[0-9a-z]{26}$/;

export type JobIdKind = 'parent' | 'child' | 'neither';

/** Tells what an id from a URL could name, so that nonsense never reaches the database. */
export function classifyJobId(id: string): JobIdKind {
  const [parent = '', ...rest] = id.split('.');
  if (!JOB_ID.test(parent)) return 'neither';
  if (rest.length === 0) return 'parent';
  return rest.length === 2 && rest.every((segment) => segment !== '') ? 'child' : 'neither';
}

/** True for the form of our own ids, so that nonsense from a URL never reaches the database. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[0-9a-z]{26}$/.test(text.slice(prefix.length + 1));
}

import type { Envelope } from '../../contract/index.ts';
import type { ExportRow } from './rows.ts';

type Cell = string | number | boolean | null;

/** The columns of the table, in their order. Lists stand in one cell, one element a line. */
const COLUMNS: Record<string, (row: ExportRow) => Cell> = {
  runId: ({ run }) => run.id,
  scheduledFor: ({ run }) => run.scheduledFor,
  runStatus: ({ run }) => run.status,
  runDetail: ({ run }) => run.detail,
  jobId: ({ run }) => run.jobId,
  childId: ({ child }) => child?.id ?? null,
  surface: ({ child }) => child?.surface ?? null,
  region: ({ child }) => child?.region ?? null,
  status: ({ child }) => child?.status ?? null,
  errorCode: ({ result }) => result?.job.error?.code ?? null,
  // Told for each row: a watch of a Kubernetes resource may have asked something else in earlier runs.
  query: ({ result }) => result?.job.query ?? null,
  completedAt: ({ result }) => result?.job.completedAt ?? null,
  surfacePresent: ({ result }) => result?.provenance.surfacePresent ?? null,
  creditsCharged: ({ result }) => result?.credits.creditsCharged ?? null,
  text: ({ result }) => result?.answer.text ?? null,
  sourceCount: ({ result }) => result?.evidence.sources.length ?? null,
  sources: ({ result }) => joinLines(result?.evidence.sources.map(({ url }) => url)),
  citedSources: ({ result }) => joinLines(result?.evidence.sources.filter(({ cited }) => cited).map(({ url }) => url)),
  mentions: ({ result }) =>
    joinLines(result?.evidence.mentions?.items.filter(({ mentioned }) => mentioned).map(({ brand }) => brand)),
  targetsMentioned: ({ result }) => joinLines(listTargets(result, true)),
  targetsMissing: ({ result }) => joinLines(listTargets(result, false)),
};

export const EXPORT_COLUMNS: readonly string[] = Object.keys(COLUMNS);

/** One row of the table, in the order of `EXPORT_COLUMNS`. */
export function toCells(row: ExportRow): Cell[] {
  return Object.values(COLUMNS).map((read) => read(row));
}

/** What was pinned, as it was pinned: whether we are named is the first question that is asked of such a table. */
function listTargets(result: Envelope | null, wanted: boolean): string[] | undefined {
  return result?.evidence.mentions?.items.flatMap(({ target, mentioned }) =>
    target !== null && mentioned === wanted ? [target] : [],
  );
}

function joinLines(lines: readonly string[] | undefined): string | null {
  return lines === undefined ? null : lines.join('\n');
}

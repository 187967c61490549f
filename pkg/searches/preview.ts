import { judge, type CaptureResult, type CaptureTask } from '../capture/index.ts';
import type { Envelope } from '../contract/index.ts';
import { buildEnvelope } from './envelope.ts';
import { describeFindings, explain } from './settle.ts';

/** The envelope that a capture would end as, of a search that nobody has made: nothing is stored, nothing costs. */
export function previewEnvelope(
  task: CaptureTask,
  result: CaptureResult,
  { startedAt, endedAt }: { startedAt: Date; endedAt: Date },
): Envelope {
  const { state, code } = judge(task.surface, result.outcome);
  const ended = {
    id: task.captureId,
    searchId: task.captureId.split('.', 1)[0] ?? '',
    surface: task.surface,
    region: task.region,
    query: task.query,
    state,
    attempts: 1,
    price: 0,
    creditsCharged: 0,
    createdAt: startedAt,
    startedAt,
    endedAt,
  };
  const findings = describeFindings({ result, mentions: null, warnings: [] }, state === 'completed');
  return buildEnvelope(ended, findings, code === null ? null : { code, error: explain(result) });
}

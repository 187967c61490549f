import { SURFACES, type Envelope } from '../../pkg/contract/index.ts';
import { readEnvelopes } from '../../pkg/searches/index.ts';
import { until } from '../support/poll.ts';
import { startService } from '../support/service.ts';

/** The demo has no lane for it. */
const NOT_LIVE = 'assistant_four';

/** What the demo's engines answer to one question, captured by the service's own lanes: an envelope of each surface. */
export async function captureEnvelopes(query: string): Promise<Envelope[]> {
  const service = await startService();
  try {
    const surfaces = SURFACES.filter((surface) => surface !== NOT_LIVE);
    const accepted = await service.call('POST', '/v1/search?mode=async', { query, surfaces });
    const { jobId } = accepted.body;
    await until(async () => (await service.call('GET', `/v1/jobs/${jobId}`)).body.job.status !== 'processing', {
      timeoutMs: 60_000,
      what: 'every surface is captured',
      everyMs: 500,
    });
    const found = await readEnvelopes(service.database.db, service.accountId, jobId);
    return found.map(({ envelope }) => envelope);
  } finally {
    await service.close();
  }
}

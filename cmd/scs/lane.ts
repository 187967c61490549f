import { tmpdir } from 'node:os';
import { profileJsonSchema } from '../../pkg/capture/index.ts';
import { loadSettings } from '../../pkg/config/index.ts';
import { loadLaneFile, tryLane, type CaptureLane } from '../../pkg/lanes/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';
import type { Result, Values } from './command.ts';
import { readRegion } from './region.ts';
import { reportTrial, toData } from './trial-report.ts';
import { UsageError } from './usage.ts';

/** `scs lane try FILE`: one capture as the document says, with all that its author wants to know. */
export async function tryOneLane(values: Values, [file]: string[]): Promise<Result> {
  if (file === undefined) throw new UsageError('which file? Usage: scs lane try FILE --query "…"');
  const query = values['query'];
  if (typeof query !== 'string' || query.trim() === '') throw new UsageError('--query is required');
  const trace = values['trace'];
  const lane = choose(await read(file), textOf(values['name']));
  const settings = loadSettings(process.env, ['browserExecutable', 'secretsDir']);
  const trial = await tryLane({
    ...settings,
    lane,
    query,
    region: readRegion(textOf(values['region'])),
    headed: values['headed'] === true,
    pictureDir: tmpdir(),
    traceDir: typeof trace === 'string' ? trace : null,
    env: process.env,
    clock: systemClock,
    log: createLog('scs', 'silent'),
  });
  const { outcome } = trial.result;
  return {
    data: toData(lane, trial),
    text: reportTrial(lane, trial),
    exitCode: outcome === 'completed' || outcome === 'absent' ? 0 : 1,
  };
}

/** `scs lane schema`: what editors check a profile by. */
export function printSchema(): Promise<Result> {
  const schema = profileJsonSchema();
  return Promise.resolve({ data: schema, text: JSON.stringify(schema, null, 2) });
}

async function read(file: string): Promise<CaptureLane[]> {
  try {
    return await loadLaneFile(file);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function choose(lanes: readonly CaptureLane[], name: string | undefined): CaptureLane {
  const names = lanes.map(({ metadata }) => metadata.name);
  const found = lanes.find(({ metadata }) => metadata.name === (name ?? names[0]));
  if (found === undefined) throw new UsageError(`--name: the file holds ${names.join(', ')}`);
  if (name === undefined && lanes.length > 1)
    throw new UsageError(`--name is required: the file holds ${names.join(', ')}`);
  return found;
}

function textOf(value: Values[string]): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

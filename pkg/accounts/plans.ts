import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as yup from 'yup';

const count = yup.number().integer().min(1).required();

const PLAN = yup
  .object({
    id: yup
      .string()
      .matches(/^[a-z0-9-]+$/, 'id must be lower-case letters, digits and dashes')
      .required(),
    submitsPerMinute: count,
    syncInFlight: count,
    queuedChildren: count,
    activeWatches: count,
    minWatchIntervalMinutes: count,
  })
  .noUnknown()
  .strict();

export type Plan = yup.InferType<typeof PLAN>;
export type Plans = { get(id: string): Plan; ids(): string[] };

/** Reads every plan of a folder; an error names the file. */
export async function loadPlans(folder: string): Promise<Plans> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort();
  const plans = new Map<string, Plan>();
  for (const file of files) {
    const plan = await readPlan(join(folder, file));
    if (plans.has(plan.id)) throw new Error(`${join(folder, file)}: the plan ${plan.id} is defined twice`);
    plans.set(plan.id, plan);
  }
  if (plans.size === 0) throw new Error(`${folder} holds no plan (*.yaml)`);
  return {
    get: (id) => {
      const plan = plans.get(id);
      if (plan === undefined) throw new Error(`no plan is named ${id}; there are ${[...plans.keys()].join(', ')}`);
      return plan;
    },
    ids: () => [...plans.keys()],
  };
}

async function readPlan(file: string): Promise<Plan> {
  try {
    return await PLAN.validate(parse(await readFile(file, 'utf8')));
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

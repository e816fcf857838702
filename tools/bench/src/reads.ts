import { type RecordedResponse, recordResponse, requireSameResponse } from './response.js';
import { startControl } from './control.js';
import { httpLoad } from './load.js';
import { compareAll, counted, type Effort, type ComparisonPlan, type Result, resultOf } from './request.js';
import type { BenchTarget } from './service.js';
import { inWorkshop, makeWorld, type World } from './world.js';

export interface ReadsOptions extends Effort {
  /** How many transfers the books hold, for the everyday comparison and for the one of growth. */
  readonly transfers: number;
  readonly grownTo: number;
}

export const RESIDENT_AIM_MB = 260;

const REFERENCE = ['/products', '/recipients/countries/IN/corridors', '/recipients/countries/DE/corridors'];

/** Measures the reads. */
export function benchReads(options: ReadsOptions): Promise<Result> {
  return inWorkshop(async ({ folder, runs }) => {
    const small = await makeWorld(folder('small'), options.transfers, options.onProgress);
    runs(small.service);
    const grown = await makeWorld(folder('grown'), options.grownTo, options.onProgress);
    runs(grown.service);
    const control = runs(await controlOf(small));
    const compared = [...REFERENCE, ...small.transferPaths.slice(0, 12)];
    for (const path of compared) await requireSameResponse(path, small.service, control);
    return resultOf(await compareAll(questionsTo(small, grown, control, options), options), RESIDENT_AIM_MB);
  });
}

function questionsTo(
  small: World,
  grown: World,
  control: BenchTarget,
  { transfers, grownTo, connections }: ReadsOptions,
): ComparisonPlan[] {
  const reading = (answering: BenchTarget, paths: readonly string[]) =>
    httpLoad({ answering, connections, requests: paths.map((path) => ({ path })), expects: 200 });
  const againstControl = (paths: readonly string[]) => ({
    ours: reading(small.service, paths),
    control: reading(control, paths),
  });
  return [
    {
      name: 'GET /transfers/{transferId}',
      control: 'bare Fastify, leanest statement',
      aim: 0.65,
      sides: againstControl(small.transferPaths),
    },
    ...REFERENCE.map((path) => ({
      name: `GET ${path}`,
      control: 'bare Fastify, bytes from memory',
      aim: 0.5,
      sides: againstControl([path]),
    })),
    {
      name: `GET /transfers/{transferId}, ${counted(grownTo)} in the books`,
      control: `the service, ${counted(transfers)} in the books`,
      aim: 0.9,
      sides: {
        ours: reading(grown.service, grown.transferPaths),
        control: reading(small.service, small.transferPaths),
      },
    },
  ];
}

/** Gets from the service what its control is to send. */
async function controlOf({ dataDir, service, transferPaths }: World): Promise<BenchTarget> {
  const answers: Record<string, RecordedResponse> = {};
  for (const path of REFERENCE) answers[path] = await recordResponse(service, path);
  const { headers: transferHeaders } = await recordResponse(service, transferPaths[0] ?? '');
  return startControl({ dataDir, answers, transferHeaders });
}

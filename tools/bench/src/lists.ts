import { httpLoad } from './load.js';
import { makePayers } from './payers.js';
import { compareAll, counted, type Effort, type ComparisonPlan, type Result, resultOf } from './request.js';
import { recordResponse, requireSameResponse } from './response.js';
import { startControl } from './control.js';
import type { BenchTarget } from './service.js';
import { analyzeWorld, inWorkshop, makeWorld, type World } from './world.js';

export interface ListsOptions extends Effort {
  readonly transfers: number;
  /** Which page is compared with the first. */
  readonly page: number;
}

/** Items on a page, the default of the interface. */
const PAGE = 100;

/** The items of the pages that the control reads too. */
const LIMITS = [25, PAGE];

/** The most a page may hold: the way to a late page is walked in these. */
const STRIDE = 500;

/** Accounts with two orders abroad each, so that the first page has more kinds of transfers than one. */
const PAYERS = { accounts: 12, workspaces: 1 };

/** Measures whether a list costs the same wherever it is read, and what it costs more than the leanest way to the same bytes. */
export function benchLists(options: ListsOptions): Promise<Result> {
  const { page, transfers, onProgress } = options;
  return inWorkshop(async ({ folder, runs }) => {
    const world = await makeWorld(folder('lists'), transfers, onProgress);
    const service = runs(world.service);
    const reading = readingBy(options);
    onProgress(`Walking to page ${page}`);
    const late = await pageBehind(service, (page - 1) * PAGE);
    const deep: ComparisonPlan = {
      name: `GET /transfers, page ${counted(page)} of ${counted(transfers)} transfers`,
      control: 'the service, page 1',
      aim: 0.9,
      sides: { ours: reading(service, late), control: reading(service, pathOf(PAGE)) },
    };
    const comparisons = await compareAll([deep], options);

    await makePayers(world.dataDir, PAYERS);
    await analyzeWorld(world.dataDir);
    const control = runs(await controlOf(world));
    for (const limit of LIMITS) await requireSameResponse(pathOf(limit), service, control);
    const lean = LIMITS.map((limit): ComparisonPlan => ({
      name: `GET ${pathOf(limit)}`,
      control: 'bare Fastify, leanest statement',
      aim: 0.7,
      sides: { ours: reading(service, pathOf(limit)), control: reading(control, pathOf(limit)) },
    }));
    return resultOf([...comparisons, ...(await compareAll(lean, options))]);
  });
}

const pathOf = (limit: number) => `/transfers?limit=${limit}`;

const readingBy =
  ({ connections }: Effort) =>
  (answering: BenchTarget, path: string) =>
    httpLoad({ answering, connections, requests: [{ path }], expects: 200 });

/** The control sends the headers of the service, among them the link to the next page. */
async function controlOf({ dataDir, service, transferPaths }: World): Promise<BenchTarget> {
  const { headers: transferHeaders } = await recordResponse(service, transferPaths[0] ?? '');
  const pages = await Promise.all(
    LIMITS.map(async (limit) => [limit, (await recordResponse(service, pathOf(limit))).headers] as const),
  );
  return startControl({ dataDir, answers: {}, transferHeaders, pageHeaders: Object.fromEntries(pages) });
}

/** The path of the page that begins behind so many items. @throws Error when the list ends before */
async function pageBehind({ url, headers }: BenchTarget, items: number): Promise<string> {
  let path = pathOf(PAGE);
  for (let left = items; left > 0;) {
    const stride = Math.min(STRIDE, left);
    const asked = new URL(path, url);
    asked.searchParams.set('limit', String(stride));
    const response = await fetch(asked, { headers });
    await response.arrayBuffer();
    const next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    if (next === undefined) throw new Error(`the list ends ${left} items before that page`);
    path = next;
    left -= stride;
  }
  return path.replace(/limit=\d+/, `limit=${PAGE}`);
}

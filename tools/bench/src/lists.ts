import { httpLoad } from './load.js';
import { compareAll, type Effort, type ComparisonPlan, type Result, resultOf } from './request.js';
import type { BenchTarget } from './service.js';
import { inWorkshop, makeWorld } from './world.js';

export interface ListsOptions extends Effort {
  readonly transfers: number;
  /** Which page is compared with the first. */
  readonly page: number;
}

/** Items on a page, the default of the interface. */
const PAGE = 100;

/** The most a page may hold: the way to a late page is walked in these. */
const STRIDE = 500;

/** Measures whether a list costs the same wherever it is read. */
export function benchLists(options: ListsOptions): Promise<Result> {
  const { page, transfers, onProgress } = options;
  return inWorkshop(async ({ folder, runs }) => {
    const { service } = await makeWorld(folder('lists'), transfers, onProgress);
    runs(service);
    onProgress(`Walking to page ${page}`);
    const first = `/transfers?limit=${PAGE}`;
    const late = await pageBehind(service, (page - 1) * PAGE);
    const reading = (path: string) =>
      httpLoad({ answering: service, connections: options.connections, requests: [{ path }], expects: 200 });
    const question: ComparisonPlan = {
      name: `GET /transfers, page ${page} of ${transfers} transfers`,
      control: 'the service, page 1',
      // A factor of 1.3 either way.
      aim: 1 / 1.3,
      sides: { ours: reading(late), control: reading(first) },
    };
    return resultOf(await compareAll([question], options));
  });
}

/** The path of the page that begins behind so many items. @throws Error when the list ends before */
async function pageBehind({ url, headers }: BenchTarget, items: number): Promise<string> {
  let path = `/transfers?limit=${PAGE}`;
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

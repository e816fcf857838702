import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDeployment, readDemoWorld } from '@banking/operations';
import { joinEmbeddedServer, analyzeTables, SCHEMA } from '@banking/postgres';
import { inPairs, type Pair } from './comparison.js';
import { startControl, type Answer } from './control.js';
import { fillBooks, sampleTransfers } from './fill-books.js';
import { measure, type Measured } from './load.js';
import { startService, type Answering } from './service.js';

export interface ReadsOptions {
  readonly rounds: number;
  /** How long each side is asked in each round. */
  readonly seconds: number;
  readonly connections: number;
  /** How many transfers the books hold, for the everyday comparison and for the one of growth. */
  readonly transfers: number;
  readonly grownTo: number;
  readonly onProgress: (line: string) => void;
}

/** What both sides are asked, and the ratio we want. */
interface Question {
  readonly name: string;
  /** Who answers on the other side, in words. */
  readonly control: string;
  readonly aim: number;
  readonly sides: Pair<Answering>;
  readonly paths: Pair<readonly string[]>;
}

export type Comparison = Pick<Question, 'name' | 'control' | 'aim'> & { readonly pairs: readonly Pair<Measured>[] };

export interface ReadsResult {
  readonly comparisons: readonly Comparison[];
  /** The most the service held in memory at any time under any load. */
  readonly residentMb: number;
  readonly residentAimMb: number;
}

const WARM_UP_MAX_S = 2;
const SAMPLE = 300;
const RESIDENT_AIM_MB = 220;
const REFERENCE = ['/products', '/recipients/countries/IN/corridors', '/recipients/countries/DE/corridors'];

/** One database with its service, and the paths of transfers that are asked for. */
interface World {
  readonly dataDir: string;
  readonly service: Answering;
  readonly transferPaths: readonly string[];
}

/** Measures the reads. Everything it makes is in a folder of its own, which is gone afterwards. */
export async function benchReads(options: ReadsOptions): Promise<ReadsResult> {
  const home = await mkdtemp(join(tmpdir(), 'banking-bench-'));
  const running: Answering[] = [];
  const started = <T extends Answering>(answering: T) => (running.push(answering), answering);
  try {
    const small = await makeWorld(join(home, 'small'), options.transfers, options, started);
    const grown = await makeWorld(join(home, 'grown'), options.grownTo, options, started);
    const control = started(await controlOf(small));
    await proveSameBytes(small, control);

    const comparisons: Comparison[] = [];
    for (const question of questionsTo(small, grown, control, options)) {
      comparisons.push(await compare(question, options));
    }
    const ours = comparisons.flatMap(({ pairs }) => pairs.map((pair) => pair.ours.residentMb));
    return { comparisons, residentMb: Math.max(...ours), residentAimMb: RESIDENT_AIM_MB };
  } finally {
    for (const answering of running.reverse()) await answering.stop();
    await rm(home, { recursive: true, force: true });
  }
}

function questionsTo(small: World, grown: World, control: Answering, { transfers, grownTo }: ReadsOptions): Question[] {
  const againstControl = { ours: small.service, control };
  return [
    {
      name: 'GET /transfers/{transferId}',
      control: 'bare Fastify, the same statement',
      aim: 0.8,
      sides: againstControl,
      paths: { ours: small.transferPaths, control: small.transferPaths },
    },
    ...REFERENCE.map((path) => ({
      name: `GET ${path}`,
      control: 'bare Fastify, bytes from memory',
      aim: 0.75,
      sides: againstControl,
      paths: { ours: [path], control: [path] },
    })),
    {
      name: `GET /transfers/{transferId}, ${grownTo} in the books`,
      control: `the service, ${transfers} in the books`,
      aim: 0.9,
      sides: { ours: grown.service, control: small.service },
      paths: { ours: grown.transferPaths, control: small.transferPaths },
    },
  ];
}

async function compare({ name, control, aim, sides, paths }: Question, options: ReadsOptions): Promise<Comparison> {
  const { rounds, seconds, connections, onProgress } = options;
  const ask = (side: keyof Pair<unknown>, forSeconds: number) => () =>
    measure({ ...sides[side], paths: paths[side], connections, seconds: forSeconds });
  onProgress(`${name}: warming up`);
  const warmUp = Math.min(WARM_UP_MAX_S, seconds);
  await ask('ours', warmUp)();
  await ask('control', warmUp)();
  onProgress(`${name}: ${rounds} rounds of ${seconds} s a side`);
  const pairs = await inPairs(rounds, { ours: ask('ours', seconds), control: ask('control', seconds) });
  return { name, control, aim, pairs };
}

/** Gets from the service what its control is to send. */
async function controlOf({ dataDir, service, transferPaths }: World): Promise<Answering> {
  const answers: Record<string, Answer> = {};
  for (const path of REFERENCE) answers[path] = await answerOf(service, path);
  const { headers: transferHeaders } = await answerOf(service, transferPaths[0] ?? '');
  return startControl({ dataDir, answers, transferHeaders });
}

async function makeWorld(
  dataDir: string,
  transfers: number,
  { onProgress }: ReadsOptions,
  started: (service: Answering) => Answering,
): Promise<World> {
  onProgress(`A database with ${transfers} transfers`);
  const deployment = await openDeployment({ dataDir, demo: true });
  try {
    let tenths = 0;
    await fillBooks(deployment, transfers, (there) => {
      if (Math.floor((10 * there) / transfers) <= tenths) return;
      tenths = Math.floor((10 * there) / transfers);
      onProgress(`  ${there} of ${transfers}`);
    });
    const embedded = await joinEmbeddedServer({ dataDir });
    await analyzeTables(embedded.connection, SCHEMA);
    await embedded.leave();
    const demo = await readDemoWorld(deployment.database);
    // Half of what is asked for are the demo world's transfers, one of each kind; the other half lie all over the books.
    const kinds = Object.values(demo?.transfers ?? {});
    const ids = (await sampleTransfers(deployment, SAMPLE)).flatMap((id, index) => [id, kinds[index % kinds.length]]);
    return {
      dataDir,
      service: started(await startService(dataDir)),
      transferPaths: ids.map((id) => `/transfers/${id}`),
    };
  } finally {
    await deployment.close();
  }
}

/** What Node and HTTP write into every answer by themselves. */
const MADE_ANEW = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'];

async function answerOf({ url, headers }: Answering, path: string): Promise<Answer> {
  const answer = await fetch(`${url}${path}`, { headers });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  const sent = [...answer.headers].filter(([name]) => !MADE_ANEW.includes(name));
  return { headers: Object.fromEntries(sent), body: await answer.text() };
}

/** A control that answered something else would be no control. Each request has an id of its own. */
async function proveSameBytes({ service, transferPaths }: World, control: Answering): Promise<void> {
  for (const path of [...REFERENCE, ...transferPaths.slice(0, 12)]) {
    const [ours, theirs] = await Promise.all([answerOf(service, path), answerOf(control, path)]);
    const same = (one: Answer) => JSON.stringify([one.body, { ...one.headers, 'x-request-id': '' }]);
    if (same(ours) !== same(theirs)) throw new Error(`the control answers ${path} with other bytes than the service`);
  }
}

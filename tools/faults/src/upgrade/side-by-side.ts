import { join } from 'node:path';
import { minorUnits } from '@banking/domain';
import type { Endpoint } from '../call.js';
import { Preparation } from '../world.js';
import { callMeanwhile, WORKSPACE } from './calls-meanwhile.js';
import { runContractSuite } from './contract-suite.js';
import { exchangePayment } from './exchanged-payment.js';
import type { ReleaseTree } from './release-tree.js';
import { UpgradeSite } from './upgrade-site.js';

export interface SideBySideOptions {
  readonly previous: ReleaseTree;
  readonly next: ReleaseTree;
  /** Empty, and open to the user of the database server. */
  readonly folder: string;
  readonly hasSuites: boolean;
  readonly onProgress: (line: string) => void;
}

/** One step of an upgrade. */
export interface Step {
  readonly name: string;
  readonly tookMs: number;
  /** What was measured, or what failed. */
  readonly result: string;
  readonly isFailed: boolean;
}

/** A step that failed ends the upgrade. */
class StepFailure extends Error {}

/** Upgrades a database while the previous release serves it, and lets both releases serve it together. */
export async function runSideBySide(options: SideBySideOptions): Promise<readonly Step[]> {
  const steps: Step[] = [];
  const site = await UpgradeSite.start(options.folder);
  const step = async (name: string, work: () => Promise<string | undefined>) => {
    options.onProgress(name);
    const beganAt = performance.now();
    const took = () => performance.now() - beganAt;
    try {
      steps.push({ name, result: (await work()) ?? 'done', tookMs: took(), isFailed: false });
    } catch (error) {
      steps.push({ name, result: (error as Error).message, tookMs: took(), isFailed: true });
      throw new StepFailure(name, { cause: error });
    }
  };
  try {
    await upgrade(site, options, step);
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
  } finally {
    await site.close();
  }
  return steps;
}

type RunStep = (name: string, work: () => Promise<string | undefined>) => Promise<void>;

async function upgrade(site: UpgradeSite, options: SideBySideOptions, step: RunStep): Promise<void> {
  const { previous, next } = options;
  const [oldApi, newApi] = [
    await site.processOf('api', previous, 'old-api'),
    await site.processOf('api', next, 'new-api'),
  ];
  const oldWorker = await site.processOf('worker', previous, 'old-worker');
  const newWorker = await site.processOf('worker', next, 'new-worker');
  const banking = async (tree: ReleaseTree, ...args: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await site.banking(tree, ...args);
    if (exitCode !== 0) throw new Error(`banking ${args.join(' ')} ended with ${exitCode}: ${stdout}${stderr}`);
    return stdout.trim();
  };
  const verify = async (tree: ReleaseTree) => {
    await banking(tree, 'verify');
    return 'no finding';
  };

  await step('the previous release migrates, makes the demo data and serves', async () => {
    await oldApi.start({ DEMO_DATA: 'on' });
    await oldWorker.start();
    return undefined;
  });
  await step('the next release plans', async () => lastLines(await banking(next, 'migrate', '--plan')));
  await step('the next release migrates while the previous one serves', async () => {
    const payer = await prepareCalls(site.endpointOf(oldApi));
    let output = '';
    const { calls, failure, longestMs } = await callMeanwhile(site.endpointOf(oldApi), payer, async () => {
      output = await banking(next, 'migrate');
    });
    if (failure !== undefined) throw new Error(failure);
    return `${lastLines(output)}; ${calls} calls succeeded, the longest in ${Math.round(longestMs)} ms`;
  });
  await step('the previous release starts again on the migrated database', async () => {
    for (const process of [oldApi, oldWorker]) {
      await process.stop();
      await process.start().catch((error: unknown) => Promise.reject(explainStart(site, process.name, error)));
    }
    return undefined;
  });
  await step('the next release starts beside it', async () => {
    for (const process of [newApi, newWorker]) await process.start();
    return undefined;
  });
  await step('a payment of the previous release is carried out by the next one', async () => {
    await oldWorker.stop();
    return requireNone(exchangePayment(site.endpointOf(oldApi, newApi), 'old-to-new'));
  });
  await step('a payment of the next release is carried out by the previous one', async () => {
    await newWorker.stop();
    await oldWorker.start();
    return requireNone(exchangePayment(site.endpointOf(newApi, oldApi), 'new-to-old'));
  });
  await newWorker.start();
  if (options.hasSuites) {
    const world = JSON.parse(await banking(previous, 'demo', '--json')) as unknown;
    for (const [tree, api, name] of [
      [previous, oldApi, 'previous'],
      [next, newApi, 'next'],
    ] as const) {
      await step(`the ${name} release passes its contract suite`, async () => {
        const target = { url: api.url, dataDir: site.dataDir, world };
        const { passed, failed } = await runContractSuite(tree, target, join(options.folder, `suite-of-${name}`));
        if (failed.length > 0)
          throw new Error(`${failed.length} of ${passed + failed.length} failed: ${failed.join('; ')}`);
        return `${passed} tests passed`;
      });
    }
  }
  await step('the previous release verifies the books', () => verify(previous));
  await step('the next release verifies the books', () => verify(next));
  await step('the previous release stops, and the next one serves alone', async () => {
    const payer = await prepareCalls(site.endpointOf(newApi));
    const { calls, failure } = await callMeanwhile(site.endpointOf(newApi), payer, async () => {
      for (const process of [oldWorker, oldApi]) await process.stop();
    });
    if (failure !== undefined) throw new Error(failure);
    await verify(next);
    return `${calls} calls succeeded meanwhile`;
  });
}

/** An account with money and a recipient for it, both of one workspace. */
async function prepareCalls(endpoint: Endpoint) {
  const preparation = new Preparation(endpoint);
  await preparation.readProducts();
  const [payer, payee] = [
    await preparation.openAccount(WORKSPACE, 'EUR', minorUnits(1_000_000n)),
    await preparation.openAccount(WORKSPACE, 'EUR', minorUnits(1n)),
  ];
  return { accountId: payer.id, recipientID: await preparation.addRecipient(WORKSPACE, payee) };
}

async function requireNone(difference: Promise<string | undefined>): Promise<undefined> {
  const found = await difference;
  if (found !== undefined) throw new Error(found);
}

const lastLines = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .slice(-4)
    .join('; ')
    .replace(/ {2,}/g, ' ');

/** The refusal of a start is the last line of the log. */
function explainStart(site: UpgradeSite, name: string, error: unknown): Error {
  return new Error(`${name} did not start: ${site.lastLogLine(name)}`, { cause: error });
}

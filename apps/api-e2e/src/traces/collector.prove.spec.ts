import { resolve } from 'node:path';
import { until } from '@banking/postgres/testing';
import { startGateway } from '../gateway/stacked-services.js';
import { launch, type RunningService } from '../running-service.js';
import { CANARY } from '../log-lines.js';
import { sendRequest } from '../responses.js';
import { ADA, serviceOfTheRun } from '../service.js';
import { OtlpReceiver } from './otlp-receiver.js';

const PRELOADED = resolve(__dirname, '../../dist/traces/loaded-modules.js');
const LOADED = /^loaded (\d+ files of .*)$/m;

const { dataDir, url: upstream, tokenOf } = serviceOfTheRun();

/** A gateway of the service of the run: it starts quickly, because it has no database. */
const start = (environment: Readonly<Record<string, string>>) => startGateway({ dataDir, upstream, environment });

/** Sends a request that has a span. */
async function callOnce({ url }: RunningService): Promise<number> {
  return (await sendRequest({ url, tokenOf }, '/apps', { as: ADA })).status;
}

describe('a process without the address of a collector', () => {
  const preload = { NODE_OPTIONS: `--require ${PRELOADED}` };

  /** Returns the milliseconds to the first response, and which files of OpenTelemetry were loaded until the end. */
  async function loadedBy(environment: Readonly<Record<string, string>>): Promise<string> {
    const startedAtMs = performance.now();
    const front = await start({ ...preload, ...environment });
    const startMs = performance.now() - startedAtMs;
    await callOnce(front);
    await front.stop();
    const [, loaded = ''] = LOADED.exec(front.log) ?? [];
    process.stdout.write(`started in ${Math.round(startMs)} ms: ${loaded}\n`);
    return loaded;
  }

  it('loads no file of OpenTelemetry, and with the address it loads the SDK', async () => {
    const receiver = await OtlpReceiver.start();

    const without = await loadedBy({});
    const loaded = await loadedBy({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    await receiver.stop();

    expect(without).toBe('0 files of []');
    expect(loaded).toContain('"@opentelemetry/sdk-trace-base"');
  });

  it('loads no file of OpenTelemetry in a worker', async () => {
    const { output, ended } = launch('worker', { dataDir, environment: { ...preload, HEALTH_PORT: 'none' } });

    expect(await ended).toEqual({ code: 2, signal: null });
    expect(LOADED.exec(output.stdout)?.[1]).toBe('0 files of []');
  });
});

describe('a process whose collector fails', () => {
  let receiver: OtlpReceiver;
  let front: RunningService;
  beforeEach(async () => {
    receiver = await OtlpReceiver.start();
    front = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: `api-key=${CANARY}`,
      OTEL_SERVICE_NAME: 'front of the bank',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    });
  });
  afterEach(async () => {
    await front.stop();
    await receiver.stop();
  });

  const countOf = (pattern: RegExp) => [...front.log.matchAll(pattern)].length;

  it('serves requests, and logs the begin and the end of the failure once each', async () => {
    receiver.status = 400;
    const statuses: number[] = [];
    const call = async () => statuses.push(await callOnce(front));
    await until(call, () => receiver.requests >= 5);
    await front.logged(/"traces not sent"/);

    receiver.status = 200;
    await until(call, () => countOf(/"traces sent again"/g) > 0);

    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(countOf(/"why":"the collector responded with 400","msg":"traces not sent"/g)).toBe(1);
    expect(countOf(/"lostSpans":[1-9]\d*,"msg":"traces sent again"/g)).toBe(1);
    expect(receiver.lastHeaders['api-key']).toBe(CANARY);
    expect(front.log).not.toContain(CANARY);
    expect(new Set(receiver.spans.map(({ service }) => service))).toEqual(new Set(['front of the bank']));
  });

  it('stops in time although the collector does not respond', async () => {
    receiver.status = undefined;
    await until(
      () => callOnce(front),
      () => receiver.requests > 0,
    );

    await front.stop();

    expect(front.log).toMatch(/"last traces not sent before the end"/);
    expect(front.log).toMatch(/"msg":"stopped"/);
  });

  it('stops in time although the collector has gone', async () => {
    await receiver.stop();
    expect(await callOnce(front)).toBe(200);

    await front.stop();

    expect(front.log).toMatch(/"msg":"stopped"/);
    receiver = await OtlpReceiver.start();
  });
});

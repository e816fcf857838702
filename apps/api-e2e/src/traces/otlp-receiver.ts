import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { demoDataDir, type Ending, launch, RunningService, demoIds } from '../running-service.js';
import { startGateway } from '../gateway/stacked-services.js';
import { type DemoIds, localToken, type Service } from '../service.js';

/** A span as it was received, with the name of its process. */
export interface ReceivedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isError: boolean;
}

interface KeyValue {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number; readonly boolValue?: boolean };
}

/** The part of an OTLP request in JSON that the specs read. */
interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface OtlpSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly attributes?: readonly KeyValue[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number };
}

const ERROR = 2;

/** A collector that keeps the spans it receives: OTLP over HTTP, in JSON. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Everything that was received, as text. */
  text = '';
  requests = 0;
  lastHeaders: IncomingHttpHeaders = {};
  /** The status of the next responses; undefined for no response. */
  status: number | undefined = 200;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<OtlpReceiver> {
    const server = createServer();
    const receiver = new OtlpReceiver(server);
    server.on('request', (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const bytes = Buffer.concat(parts);
        const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
        receiver.requests += 1;
        receiver.lastHeaders = request.headers;
        if (receiver.status === 200) receiver.take(text);
        if (receiver.status !== undefined)
          response.writeHead(receiver.status, { 'Content-Type': 'application/json' }).end('{}');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private take(text: string): void {
    this.text += `${text}\n`;
    for (const { resource, scopeSpans } of (JSON.parse(text) as ExportRequest).resourceSpans) {
      const service = String(attributesOf(resource.attributes)['service.name']);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) this.spans.push(received(span, service));
    }
  }
}

function received(span: OtlpSpan, service: string): ReceivedSpan {
  const { name, traceId, spanId, parentSpanId = '', kind, attributes = [], links = [], status } = span;
  const isError = status?.code === ERROR;
  return { service, name, traceId, spanId, parentSpanId, kind, attributes: attributesOf(attributes), links, isError };
}

const attributesOf = (list: readonly KeyValue[]): ReceivedSpan['attributes'] =>
  Object.fromEntries(
    list.map(({ key, value }) => [
      key,
      value.stringValue ?? value.intValue ?? value.boolValue ?? JSON.stringify(value),
    ]),
  );

/** A worker in a process of its own. */
interface RunningWorker {
  readonly log: () => string;
  stop(): Promise<Ending>;
}

/** A deployment, its worker and a gateway in front of it, which send their spans to one collector. */
export class TracedServices {
  private constructor(
    readonly receiver: OtlpReceiver,
    readonly world: DemoIds,
    readonly dataDir: string,
    readonly books: RunningService,
    readonly front: RunningService,
    private readonly worker: RunningWorker,
    private readonly removeFolder: () => Promise<void>,
  ) {}

  static async start(): Promise<TracedServices> {
    const receiver = await OtlpReceiver.start();
    const { path: dataDir, remove } = await demoDataDir();
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
    const books = await RunningService.start({ dataDir, environment: { ...environment, WORKER: 'off' } });
    const front = await startGateway({ dataDir, upstream: books.url, environment });
    const { child, ended, output } = launch('worker', { dataDir, environment });
    await output.matched(/"msg":"working"/);
    const worker = {
      log: () => output.text,
      stop: () => {
        child.kill('SIGTERM');
        return ended;
      },
    };
    return new TracedServices(receiver, demoIds(), dataDir, books, front, worker, remove);
  }

  /** The deployment, called through the gateway. */
  get service(): Service {
    return { url: this.front.url, world: this.world, tokenOf: (email) => localToken(this.dataDir, email) };
  }

  /** Stops all processes, each after those that call it. Returns the lines of their logs. */
  async stop(): Promise<Readonly<Record<'front' | 'books' | 'worker', string>>> {
    await this.front.stop();
    const { code } = await this.worker.stop();
    if (code !== 0) throw new Error(`the worker ended with ${code}:\n${this.worker.log()}`);
    await this.books.stop();
    return { front: this.front.log, books: this.books.log, worker: this.worker.log() };
  }

  async remove(): Promise<void> {
    await this.receiver.stop();
    await this.removeFolder();
  }
}

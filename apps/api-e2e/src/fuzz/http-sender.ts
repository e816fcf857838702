import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

/** A request as sent, with header lines in the given order. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Longer than the time in which the service responds in any case. */
const RESPONSE_MS = 30_000;

/** Sends requests on connections that are kept open. */
export class HttpSender {
  private readonly agent: Agent;

  constructor(
    private readonly url: string,
    connections: number,
    localAddress?: string,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: connections, ...(localAddress && { localAddress }) });
  }

  /** @throws Error if there is no response */
  async send({ method, path, headers, body }: SentRequest): Promise<ReceivedResponse> {
    const { hostname, port } = new URL(this.url);
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    return new Promise((resolve, reject) => {
      const sent = request(
        { hostname, port, method, path, headers: { ...headers, ...length }, agent: this.agent, timeout: RESPONSE_MS },
        (response) => {
          const values = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
          text(response)
            .then((received) => resolve({ status: response.statusCode ?? 0, headers: new Map(values), body: received }))
            .catch(reject);
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`no response in ${RESPONSE_MS} ms`)));
      sent.on('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

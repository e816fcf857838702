import { Agent, request } from 'node:http';

/** How a client came to its end: the service told it to leave, or lost one of its requests. */
export type Ending = 'told to leave' | { readonly lost: string };

interface HttpResponse {
  readonly status: number;
  readonly isLast: boolean;
}

/** A client that asks again and again on the one connection it keeps, as a balancer's do, until it is told to leave. */
export class KeepAliveClient {
  readonly statuses: number[] = [];
  readonly ended: Promise<Ending>;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(
    private readonly url: string,
    private readonly headers: Readonly<Record<string, string>>,
  ) {
    this.ended = this.run().finally(() => this.agent.destroy());
  }

  private async run(): Promise<Ending> {
    for (;;) {
      try {
        const { status, isLast } = await this.once();
        this.statuses.push(status);
        if (isLast) return 'told to leave';
      } catch (error) {
        return { lost: (error as Error).message };
      }
    }
  }

  private once(): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const asked = request(this.url, { agent: this.agent, headers: this.headers }, (response) => {
        const isLast = response.headers.connection === 'close';
        response.resume();
        response.once('end', () => resolve({ status: response.statusCode ?? 0, isLast }));
        response.once('error', reject);
      });
      asked.once('error', reject);
      asked.end();
    });
  }
}

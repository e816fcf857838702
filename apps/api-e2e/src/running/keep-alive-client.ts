import { Agent, request } from 'node:http';

/** How a client ended: the service closed the connection, or lost a request. */
type Ending = 'told to leave' | { readonly lost: string };

interface HttpResponse {
  readonly status: number;
  readonly isLast: boolean;
}

/** Repeats a request on one keep-alive connection, like a load balancer, until the service closes the connection. */
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
      const sent = request(this.url, { agent: this.agent, headers: this.headers }, (response) => {
        const isLast = response.headers.connection === 'close';
        response.resume();
        response.once('end', () => resolve({ status: response.statusCode ?? 0, isLast }));
        response.once('error', reject);
      });
      sent.once('error', reject);
      sent.end();
    });
  }
}

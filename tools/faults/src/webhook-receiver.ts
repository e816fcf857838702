import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a receiver does with a request that it has read. `hang` sends no response. */
export type Reaction = 'deliver' | 'fail' | 'reset' | 'hang';

/** A request as it arrived. */
export interface Arrival {
  readonly webhookId: string;
  readonly eventId: number;
  /** The resource of the event, and its position there. */
  readonly resource: string;
  readonly sequence: number;
  readonly atMs: number;
  readonly isSigned: boolean;
  readonly reaction: Reaction;
}

/** A receiver of webhooks that fails by choice, and notes what arrives. */
export class WebhookReceiver {
  readonly arrivals: Arrival[] = [];
  /** How often each event has arrived. */
  readonly counts = new Map<string, number>();
  readonly delivered = new Set<number>();
  /** With the prefix `whsec_`. */
  secret = '';

  private constructor(
    private readonly react: (webhookId: string, count: number) => Reaction,
    private readonly onArrival: (arrival: Arrival) => void,
  ) {}

  static async start(
    react: (webhookId: string, count: number) => Reaction,
    onArrival: (arrival: Arrival) => void = () => undefined,
  ): Promise<{ readonly receiver: WebhookReceiver; readonly url: string; close(): Promise<void> }> {
    const receiver = new WebhookReceiver(react, onArrival);
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('error', () => undefined);
      request.on('end', () => receiver.note(request.headers, Buffer.concat(chunks).toString(), response));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    return { receiver, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`, close };
  }

  private note(headers: IncomingHttpHeaders, body: string, response: ServerResponse): void {
    const webhookId = String(headers['webhook-id']);
    const { data } = JSON.parse(body) as {
      data: { id: number; sequence: number; resource: { type: string; id: number } };
    };
    const count = (this.counts.get(webhookId) ?? 0) + 1;
    this.counts.set(webhookId, count);
    const reaction = this.react(webhookId, count);
    const arrival = {
      ...{ webhookId, reaction, eventId: data.id, sequence: data.sequence, atMs: Date.now() },
      resource: `${data.resource.type} ${data.resource.id}`,
      isSigned: this.isSigned(headers, body),
    };
    this.arrivals.push(arrival);
    if (reaction === 'deliver') {
      this.delivered.add(data.id);
      response.writeHead(204).end();
    } else if (reaction === 'fail') {
      response.writeHead(500).end('planned');
    } else if (reaction === 'reset') {
      response.socket?.resetAndDestroy();
    }
    this.onArrival(arrival);
  }

  /** As Standard Webhooks describes, without our code. */
  private isSigned(headers: IncomingHttpHeaders, body: string): boolean {
    const key = Buffer.from(this.secret.replace(/^whsec_/, ''), 'base64');
    const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
    const expected = Buffer.from(`v1,${createHmac('sha256', key).update(content).digest('base64')}`);
    return String(headers['webhook-signature'])
      .split(' ')
      .some((one) => one.length === expected.length && timingSafeEqual(Buffer.from(one), expected));
  }
}

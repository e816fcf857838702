/** The name of the resource that a parameter or a field refers to. */
const KINDS: Readonly<Record<string, string>> = {
  accountId: 'account',
  accountID: 'account',
  recipientId: 'recipient',
  recipientID: 'recipient',
  quoteId: 'quote',
  quoteID: 'quote',
  transferId: 'transfer',
  transactionId: 'transaction',
  eventId: 'event',
  resourceId: 'order',
  webhookEndpointId: 'webhookEndpoint',
  webhookDeliveryId: 'webhookDelivery',
  cursor: 'cursor',
};

/** The resource that an operation returns, alone or in a list. */
const RETURNED: readonly (readonly [RegExp, string])[] = [
  [/Account$|Accounts$/, 'account'],
  [/Recipient$|Recipients$/, 'recipient'],
  [/Quote$/, 'quote'],
  [/Order$|Orders$/, 'order'],
  [/Transfer$|Transfers$/, 'transfer'],
  [/WebhookEndpoint$|WebhookEndpoints$/, 'webhookEndpoint'],
  [/WebhookDelivery$|WebhookDeliveries$/, 'webhookDelivery'],
  [/Event$|Events$/, 'event'],
];

/** The ids that the responses of a sequence contained. */
export class KnownIds {
  private readonly ids = new Map<string, (number | string)[]>();
  /** Paths of orders: an order is found below its account only. */
  private readonly orders: { readonly account: number; readonly order: number }[] = [];

  /** A known id for a parameter or field. A pick of 0 is none. */
  pick(name: string, pick: number): number | string | undefined {
    const kind = KINDS[name];
    const known = kind === undefined ? [] : (this.ids.get(kind) ?? []);
    return pick === 0 ? undefined : known[(pick - 1) % known.length];
  }

  /** An order of the sequence with its account, the newest for a pick of 0. */
  pickOrder(pick: number): { readonly account: number; readonly order: number } | undefined {
    return this.orders[pick % this.orders.length];
  }

  /** Takes the ids from a successful response. */
  learn(operationId: string, path: string, body: unknown, link: string | undefined): void {
    const cursor = /[?&]cursor=([^&>]+)/.exec(link ?? '')?.[1];
    if (cursor !== undefined) this.add('cursor', decodeURIComponent(cursor));
    const kind = RETURNED.find(([pattern]) => pattern.test(operationId))?.[1];
    const account = Number(/^\/accounts\/([0-9]+)/.exec(path)?.[1]);
    for (const one of [body].flat()) {
      if (kind === 'order' && account > 0 && isResource(one)) this.orders.unshift({ account, order: one.id });
      this.walk(one, kind);
    }
  }

  private walk(value: unknown, kind: string | undefined): void {
    if (Array.isArray(value)) return value.forEach((one) => this.walk(one, kind));
    if (typeof value !== 'object' || value === null) return;
    if (kind !== undefined && isResource(value)) this.add(kind, value.id);
    for (const [name, inner] of Object.entries(value)) {
      this.walk(inner, name === 'edges' ? undefined : name.replace(/s$/, ''));
    }
  }

  private add(kind: string, id: number | string): void {
    const known = this.ids.get(kind) ?? [];
    // The newest first: what a sequence has just created is what its next steps use.
    if (!known.includes(id)) this.ids.set(kind, [id, ...known].slice(0, 12));
  }
}

const isResource = (value: unknown): value is { readonly id: number } =>
  typeof (value as { id?: unknown } | null)?.id === 'number';

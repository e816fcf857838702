import { RemoteRefusal, type WorkspaceView } from '@banking/client';
import type { Event, EventResourceType, EventType } from '@banking/domain';

const HOUR_MS = 3_600_000;
/** An event follows its change by a moment. A service without a worker has none. */
const WAIT_S = 5;
const PAGE = 500;

interface StoryEventsOptions {
  readonly workspace: WorkspaceView;
  readonly print: (line: string) => void;
  /** The name of each line. */
  readonly name?: string;
}

/** Prints the events of the resources of the story, and of no other resource of the workspace. */
export class StoryEvents {
  private readonly known = new Set<string>();
  /** Types of events with the names of their resources. */
  private readonly printed = new Set<string>();
  private waiting: readonly Event[] = [];

  private constructor(
    private readonly options: StoryEventsOptions,
    private readonly createdFrom: string,
    private cursor: string | undefined,
  ) {}

  /** Begins behind the events that are there. A service without events has none to print. */
  static async open(options: StoryEventsOptions): Promise<StoryEvents> {
    // One hour ago, in case that the clock of this machine is ahead of that of the service.
    const createdFrom = new Date(Date.now() - HOUR_MS).toISOString();
    const events = new StoryEvents(options, createdFrom, undefined);
    try {
      for (let page = await events.read(0); page.length > 0; page = await events.read(0));
    } catch (error) {
      if (!(error instanceof RemoteRefusal && error.reason === 'route_not_found')) throw error;
      events.cursor = undefined;
    }
    return events;
  }

  /**
   * Prints the events of a resource and of its payment, until one of a type. The resource may be the account of a transfer.
   *
   * @throws RemoteRefusal as the service refuses a list of events
   */
  async printUntil(
    type: EventType,
    resource: { readonly type: EventResourceType; readonly id: number },
  ): Promise<void> {
    if (this.cursor === undefined) return;
    const name = nameOf(resource.type, resource.id);
    this.known.add(name);
    while (!this.printed.has(`${type} of ${name}`)) {
      const page = await this.read(WAIT_S);
      if (page.length === 0) return;
      this.printKnown(page);
    }
  }

  private async read(wait: number): Promise<readonly Event[]> {
    const { events } = this.options.workspace;
    const { items, next } = await events.listPage({
      createdFrom: this.createdFrom,
      limit: PAGE,
      cursor: this.cursor,
      wait,
    });
    this.cursor = next;
    return items;
  }

  /** A transaction is found by its execution, whose event may be behind that of the transaction. */
  private printKnown(page: readonly Event[]): void {
    const events = [...this.waiting, ...page];
    const isKnown = (event: Event) => [...namesOf(event), accountOf(event)].some((name) => this.known.has(name));
    for (let before = -1; before !== this.known.size;) {
      before = this.known.size;
      for (const event of events.filter(isKnown)) for (const name of namesOf(event)) this.known.add(name);
    }
    this.waiting = events.filter((event) => !isKnown(event));
    const { print, name: label = 'event' } = this.options;
    for (const event of events.filter(isKnown)) {
      const { type, resource, sequence } = event;
      print(`  ${label.padEnd(12)}${type.padEnd(24)}${resource.type} ${resource.id}, sequence ${sequence}`);
      for (const name of [...namesOf(event), accountOf(event)]) this.printed.add(`${type} of ${name}`);
    }
  }
}

const nameOf = (type: EventResourceType, id: number) => `${type} ${id}`;

/** The resource of an event, and the payment that it belongs to. */
function namesOf({ resource, changes: { orderID, transactionID } }: Event): string[] {
  return [
    `${resource.type} ${resource.id}`,
    ...(orderID === undefined ? [] : [nameOf('order', orderID)]),
    ...(transactionID === undefined ? [] : [nameOf('transaction', transactionID)]),
  ];
}

/** Payments of others may have the same account, so their events are not printed unless the account is known. */
const accountOf = ({ changes: { accountID } }: Event) => `account ${accountID}`;

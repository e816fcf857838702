import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  readonly toServer: DelayedPipe;
  readonly toClient: DelayedPipe;
  /** Bytes of both ends are dropped, and neither end is told. */
  isSilent: boolean;
  held?: Buffer[] | undefined;
}

/** ReadyForQuery outside a database transaction: what was sent before is committed. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** When a statement is interrupted: before the server receives it, or after it is committed and before the client knows. */
export type CutTime = 'before' | 'after';

/** A statement to interrupt, by its name in the extended protocol. */
interface Cut {
  readonly name: Buffer;
  readonly when: CutTime;
  readonly act: (link: Link, bytes: Buffer) => void;
}

/**
 * A TCP proxy between one process and PostgreSQL. It passes bytes on until a fault is injected.
 *
 * A statement may arrive in several pieces. A name that is cut in two is not recognised, and the next commit is.
 */
export class DatabaseProxy {
  private delayMs = 0;
  private readonly links = new Set<Link>();
  private isRefusing = false;
  private cut: Cut | undefined;
  /** Links on which the statement of the cut was sent. */
  private committing = new Set<Link>();

  private constructor(
    private readonly listener: Server,
    private target: string,
  ) {}

  /** @param target the path of the Unix socket of PostgreSQL */
  static async start(target: string): Promise<DatabaseProxy> {
    const listener = createServer();
    const proxy = new DatabaseProxy(listener, target);
    listener.on('connection', (client) => {
      if (proxy.isRefusing) client.resetAndDestroy();
      else proxy.join(client, connect(proxy.target));
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.listener.address() as AddressInfo).port;
  }

  /** Delays every piece of data in both directions; 0 ends the delay. */
  delay(ms: number): void {
    this.delayMs = ms;
  }

  /** Drops everything on the present connections from now on, as if the network had lost the other end. */
  silence(): void {
    for (const link of this.links) link.isSilent = true;
  }

  /** Resets the connections that were silenced: the network is back, and what was sent meanwhile is lost. */
  endSilence(): void {
    for (const link of this.links) if (link.isSilent) this.resetLink(link);
  }

  reset(): void {
    for (const link of this.links) this.resetLink(link);
  }

  /** Resets every connection and refuses new ones, as if no server ran, until `accept`. */
  refuse(): void {
    this.isRefusing = true;
    this.reset();
  }

  accept(): void {
    this.isRefusing = false;
  }

  /** Leads to another server from now on, as a virtual address does. */
  switchTo(target: string): void {
    this.target = target;
    this.reset();
  }

  heal(): void {
    this.accept();
    this.delay(0);
    this.endSilence();
  }

  /** Resets the connection of the next commit. @returns whether there was one before the signal */
  async resetAtCommit(when: CutTime, signal: AbortSignal): Promise<boolean> {
    return this.interrupt('commit', when, signal, (link) => this.resetLink(link));
  }

  /**
   * Waits until the next statement of this name is committed, and withholds the response; or withholds the statement itself.
   *
   * @returns the reset of the connection that waits for it; undefined if the signal ended the wait first
   */
  async withhold(statement: string, signal: AbortSignal, when: CutTime = 'after'): Promise<(() => void) | undefined> {
    let release: (() => void) | undefined;
    await this.interrupt(statement, when, signal, (link) => {
      link.isSilent = true;
      release = () => this.resetLink(link);
    });
    return release;
  }

  /**
   * Waits until the server has responded to the next statement of this name, and holds the response back.
   *
   * @returns delivers it, late; undefined if the signal ended the wait first
   */
  async holdBack(statement: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    let deliver: (() => void) | undefined;
    await this.interrupt(statement, 'after', signal, (link, bytes) => {
      const held = [bytes];
      link.held = held;
      deliver = () => {
        link.held = undefined;
        for (const piece of held) link.toClient.pass(piece, 0);
      };
    });
    return deliver;
  }

  async close(): Promise<void> {
    this.reset();
    await new Promise((resolve) => this.listener.close(resolve));
  }

  private interrupt(statement: string, when: CutTime, signal: AbortSignal, act: Cut['act']): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (isDone: boolean) => {
        this.cut = undefined;
        this.committing = new Set();
        signal.removeEventListener('abort', giveUp);
        resolve(isDone);
      };
      const giveUp = () => end(false);
      signal.addEventListener('abort', giveUp, { once: true });
      const name = Buffer.from(`\0${statement}\0`);
      this.cut = { name, when, act: (link, bytes) => (act(link, bytes), end(true)) };
    });
  }

  private join(client: Socket, server: Socket): void {
    const link: Link = {
      client,
      server,
      toServer: new DelayedPipe((bytes) => link.isSilent || server.destroyed || server.write(bytes)),
      toClient: new DelayedPipe((bytes) => link.isSilent || client.destroyed || client.write(bytes)),
      isSilent: false,
    };
    this.links.add(link);
    client.setNoDelay(true);
    client.on('data', (bytes) => this.passToServer(link, bytes));
    server.on('data', (bytes) => this.passToClient(link, bytes));
    for (const socket of [client, server]) {
      socket.on('error', () => undefined);
      // A silent link stays until the silence ends: the other end does not learn that this end is gone.
      socket.on('close', () => link.isSilent || this.end(link));
    }
  }

  private resetLink(link: Link): void {
    link.isSilent = false;
    // A socket whose end was sent cannot be reset. Node then never closes its handle, which takes a whole core.
    if (link.client.writable) link.client.resetAndDestroy();
    this.end(link);
  }

  private end(link: Link): void {
    this.links.delete(link);
    for (const pipe of [link.toServer, link.toClient]) pipe.end();
    for (const socket of [link.client, link.server]) socket.destroy();
  }

  private passToServer(link: Link, bytes: Buffer): void {
    if (link.isSilent) return;
    if (this.cut !== undefined && bytes.includes(this.cut.name)) {
      if (this.cut.when === 'before') return this.cut.act(link, bytes);
      this.committing.add(link);
    }
    link.toServer.pass(bytes, this.delayMs);
  }

  private passToClient(link: Link, bytes: Buffer): void {
    if (link.isSilent) return;
    if (link.held !== undefined) return void link.held.push(bytes);
    if (this.cut?.when === 'after' && this.committing.has(link) && bytes.includes(READY)) {
      return this.cut.act(link, bytes);
    }
    link.toClient.pass(bytes, this.delayMs);
  }
}

/** Passes pieces of data on after a delay, always in the order in which they arrived, also while the delay changes. */
class DelayedPipe {
  private readonly waiting: { readonly bytes: Buffer; readonly dueAt: number }[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly write: (bytes: Buffer) => void) {}

  pass(bytes: Buffer, delayMs: number): void {
    if (delayMs === 0 && this.waiting.length === 0) return this.write(bytes);
    this.waiting.push({ bytes, dueAt: Date.now() + delayMs });
    this.wait();
  }

  end(): void {
    clearTimeout(this.timer);
    this.waiting.length = 0;
  }

  private wait(): void {
    const [first] = this.waiting;
    if (first === undefined || this.timer !== undefined) return;
    const writeDue = () => {
      this.timer = undefined;
      while (this.waiting[0] !== undefined && this.waiting[0].dueAt <= Date.now()) {
        this.write(this.waiting.shift()!.bytes);
      }
      this.wait();
    };
    this.timer = setTimeout(writeDue, Math.max(0, first.dueAt - Date.now()));
  }
}

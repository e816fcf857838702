import { connect, type Socket } from 'node:net';

export interface CrowdOptions {
  readonly url: string;
  readonly count: number;
  /** The bytes that each socket sends when it is connected. */
  readonly bytes: string;
  /** A byte that each socket sends in this interval. */
  readonly dripEveryMs?: number;
  /** Whether the sockets read what they receive. */
  readonly isReading: boolean;
  /** A closed socket is opened again after this time. */
  readonly reopenAfterMs: number;
}

/** Each group of so many sockets has a loopback address of its own, below the limit of an address. */
const PER_ADDRESS = 100;

/** Many sockets that misuse their connections, from many addresses. A socket that is closed is opened again. */
export class SocketCrowd {
  /** The longest time until the service closed a socket. */
  longestMs = 0;
  opened = 0;
  open = 0;

  private readonly sockets = new Set<Socket>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private isStopped = false;

  constructor(private readonly options: CrowdOptions) {
    for (let at = 0; at < options.count; at += 1) this.start(at);
  }

  get isReading(): boolean {
    return this.options.isReading;
  }

  /** Closes all sockets. */
  stop(): void {
    this.isStopped = true;
    for (const timer of this.timers) clearInterval(timer);
    for (const socket of this.sockets) socket.destroy();
  }

  private start(at: number): void {
    const { url, bytes, dripEveryMs, isReading } = this.options;
    const { hostname, port } = new URL(url);
    let openedAt = performance.now();
    const socket = connect({ host: hostname, port: Number(port), localAddress: addressOf(at) }, () => {
      openedAt = performance.now();
      this.opened += 1;
      this.open += 1;
      socket.once('close', () => (this.open -= 1));
      socket.write(bytes);
    });
    this.sockets.add(socket);
    // Without a listener, a reset would end the process.
    socket.on('error', () => undefined);
    if (isReading) socket.resume();
    else socket.pause();
    const drip =
      dripEveryMs === undefined ? undefined : setInterval(() => socket.writable && socket.write('a'), dripEveryMs);
    if (drip) this.timers.add(drip);
    socket.once('close', () => {
      if (drip) this.timers.delete(drip);
      clearInterval(drip);
      this.sockets.delete(socket);
      if (this.isStopped) return;
      this.longestMs = Math.max(this.longestMs, performance.now() - openedAt);
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        this.start(at);
      }, this.options.reopenAfterMs);
      this.timers.add(timer);
    });
  }
}

/** 127.1.0.1, 127.1.0.2 and so on: Linux has all of 127.0.0.0/8. */
const addressOf = (at: number): string => {
  const group = Math.floor(at / PER_ADDRESS);
  return `127.1.${Math.floor(group / 250)}.${(group % 250) + 1}`;
};

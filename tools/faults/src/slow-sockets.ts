import { connect, type Socket } from 'node:net';

export const SLOW_KINDS = ['slow-head', 'slow-body', 'slow-read'] as const;

export type SlowKind = (typeof SLOW_KINDS)[number];

const BYTE_MS = 1_000;
/** More responses than the buffers of both ends hold. */
const UNREAD = 200;

/** A connection that sends or reads so slowly that the service must close it. */
export class SlowSocket {
  readonly openedAt = Date.now();
  /** Until the service closed it; undefined while it is open. */
  closedAfterMs: number | undefined;
  private readonly socket: Socket;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly kind: SlowKind,
    port: number,
    private readonly token: string,
  ) {
    this.socket = connect(port, '127.0.0.1', () => this.begin());
    this.socket.on('error', () => undefined);
    this.socket.once('close', () => {
      clearInterval(this.timer);
      this.closedAfterMs = Date.now() - this.openedAt;
    });
    // A response of 408 is read, so that the end of the connection is seen. Only the slow reader reads nothing.
    if (kind !== 'slow-read') this.socket.resume();
  }

  end(): void {
    clearInterval(this.timer);
    this.socket.destroy();
  }

  private begin(): void {
    const { kind, socket } = this;
    const authorization = `Authorization: Bearer ${this.token}\r\nWorkspace-ID: 1\r\n`;
    if (kind === 'slow-read') {
      socket.pause();
      socket.write(`GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n`.repeat(UNREAD));
      return;
    }
    if (kind === 'slow-head') socket.write('GET /accounts HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
    else {
      const head = `POST /accounts HTTP/1.1\r\nHost: localhost\r\n${authorization}`;
      socket.write(`${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`);
    }
    this.timer = setInterval(() => socket.write(' '), BYTE_MS);
  }

  /** Writes, because a connection that is not read from learns of its end only so. Earlier writes would keep it open. */
  probe(): void {
    if (this.closedAfterMs === undefined) this.socket.write('\r\n');
  }
}

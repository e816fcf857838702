import type { EmbeddedServer } from '@banking/embedded-postgres';
import { Wire } from '@banking/postgres/testing';
import { RunningService } from '../running-service.js';

/** The statements, besides COMMIT, by which a request changes something. */
const CHANGES = new RegExp(
  `\\0(${[
    ...['commit', 'change_account', 'change_recipient', 'delete_recipient', 'move_clock', 'change_webhook_endpoint'],
    ...['delete_webhook_endpoint', 'test_webhook_endpoint', 'replay_webhook_events', 'retry_webhook_delivery'],
    ...['replace_limits', 'accept_invitation', 'revoke_service_account_key'],
  ].join('|')})\\0`,
);

/** Another process on the books of a service, whose connection to the database can be lost at a commit. */
export class ServiceBehindWire {
  private constructor(
    private readonly service: RunningService,
    private readonly wire: Wire,
  ) {}

  /** @param more settings besides those of the database */
  static async start(
    dataDir: string,
    server: EmbeddedServer,
    more: Readonly<Record<string, string>>,
  ): Promise<ServiceBehindWire> {
    const wire = await Wire.lay(server.connection);
    const { port, user, database } = wire.connection;
    const environment = {
      DATABASE_URL: `postgres://${user}@127.0.0.1:${port}/${database}`,
      SANDBOX: 'on',
      DEMO_DATA: 'off',
      WORKER: 'off',
      ...more,
    };
    try {
      return new ServiceBehindWire(await RunningService.start({ dataDir, environment }), wire);
    } catch (error) {
      await wire.remove();
      throw error;
    }
  }

  get url(): string {
    return this.service.url;
  }

  /** Its log so far. */
  get log(): string {
    return this.service.log;
  }

  /** Does the work without a database from the next commit on, which the server does not receive. */
  async cutAtCommit<T>(work: () => Promise<T>): Promise<T> {
    const healthy = this.wire.toServer;
    let isCut = false;
    this.wire.toServer = (bytes) => {
      isCut ||= CHANGES.test(bytes.toString('latin1'));
      return isCut ? { isCut } : { pass: bytes };
    };
    try {
      return await work();
    } finally {
      this.wire.toServer = healthy;
    }
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await this.wire.remove();
  }
}

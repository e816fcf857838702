import { type HttpResponse, sendRequest, type RequestOptions } from '../responses.js';
import { secretsIn } from '../log-lines.js';
import { newDataDir, type RunningService } from '../running-service.js';
import { ADA, GATEWAY, localToken, type Service } from '../service.js';
import { HostileUpstream } from './hostile-upstream.js';
import { startGateway } from './stacked-services.js';

/** Log lines of an error in the gateway itself. A failure of the upstream is logged as an error, but not as one of these. */
const MISTAKE = /"msg":"unhandled error"|^\{"level":"fatal"|unhandledRejection|uncaughtException|Warning:/;

/** Long enough for a response on a busy machine, and short enough for a spec to wait for the timeout. */
const UPSTREAM_TIMEOUT_MS = '1000';

/** A gateway in front of a hostile upstream. Each request has an id, by which its log lines are found. */
export class AttackedGateway {
  private requests = 0;
  private checkedLength = 0;

  private constructor(
    readonly upstream: HostileUpstream,
    readonly gateway: RunningService,
    readonly dataDir: string,
    /** The credential that the gateway sends to the upstream. */
    readonly token: string,
    private readonly remove: () => Promise<void>,
  ) {}

  static async start(environment: Readonly<Record<string, string>> = {}): Promise<AttackedGateway> {
    const { path: dataDir, remove } = await newDataDir();
    const upstream = await HostileUpstream.start();
    const token = await localToken(dataDir, GATEWAY);
    const limits = { UPSTREAM_TIMEOUT_MS, UPSTREAM_TOKEN: token, LOG_LEVEL: 'trace' };
    const gateway = await startGateway({ dataDir, upstream: upstream.url, environment: { ...limits, ...environment } });
    return new AttackedGateway(upstream, gateway, dataDir, token, remove);
  }

  get service(): Service {
    const none = { apps: {}, users: {}, workspaces: {}, accounts: {}, recipients: {}, transfers: {} };
    return { url: this.gateway.url, world: none, tokenOf: (email) => localToken(this.dataDir, email) };
  }

  /** Sends a request as Ada in workspace 1 by default. Fails if the OpenAPI document omits the status of the response. */
  sendRequest(path: string, options: RequestOptions = {}): Promise<HttpResponse> {
    return sendRequest(this.service, path, { as: ADA, workspace: 1, ...options });
  }

  /** Sends a request, and returns its log lines with the response. */
  async requestAndReadLog(
    path: string,
    options: RequestOptions = {},
  ): Promise<HttpResponse & { readonly lines: readonly string[] }> {
    const id = `request-${(this.requests += 1)}.`;
    const response = await this.sendRequest(path, { ...options, headers: { 'x-request-id': id, ...options.headers } });
    await this.gateway.logged(new RegExp(`"requestId":"${id}","method".*\n`));
    return { ...response, lines: this.gateway.log.split('\n').filter((line) => line.includes(`"${id}"`)) };
  }

  /** The lines since the last call that contain a secret or an unhandled error. */
  wrongLines(): readonly string[] {
    const log = this.gateway.log.slice(this.checkedLength);
    this.checkedLength += log.length;
    return [...secretsIn(log), ...log.split('\n').filter((line) => MISTAKE.test(line))];
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.upstream.stop();
    await this.remove();
  }
}

import { type Answer, ask, type Question } from '../answers.js';
import { secretsIn } from '../log-lines.js';
import { newDataDir, type RunningService } from '../running-service.js';
import { ADA, GATEWAY, localToken, type Service } from '../service.js';
import { HostileUpstream } from './hostile-upstream.js';
import { startGateway } from './stacked-services.js';

/** What a gateway may not admit, whatever its upstream does: a mistake of its own. That the upstream fails is an error, and no mistake. */
const MISTAKE = /"msg":"a bug"|^\{"level":"fatal"|unhandledRejection|uncaughtException|Warning:/;

/** Long enough for a busy machine to answer, short enough to be waited for. */
const PATIENCE_MS = '1000';

/** A gateway in front of a hostile upstream. Each question has a request id, by which its log lines are found. */
export class BesiegedGateway {
  private questions = 0;
  private lookedAt = 0;

  private constructor(
    readonly upstream: HostileUpstream,
    readonly gateway: RunningService,
    readonly dataDir: string,
    /** What the gateway shows the upstream. */
    readonly token: string,
    private readonly remove: () => Promise<void>,
  ) {}

  static async start(environment: Readonly<Record<string, string>> = {}): Promise<BesiegedGateway> {
    const { path: dataDir, remove } = await newDataDir();
    const upstream = await HostileUpstream.start();
    const token = await localToken(dataDir, GATEWAY);
    const limits = { UPSTREAM_TIMEOUT_MS: PATIENCE_MS, UPSTREAM_TOKEN: token, LOG_LEVEL: 'trace' };
    const gateway = await startGateway({ dataDir, upstream: upstream.url, environment: { ...limits, ...environment } });
    return new BesiegedGateway(upstream, gateway, dataDir, token, remove);
  }

  get service(): Service {
    const none = { apps: {}, users: {}, workspaces: {}, accounts: {}, recipients: {}, transfers: {} };
    return { url: this.gateway.url, world: none, tokenOf: (email) => localToken(this.dataDir, email) };
  }

  /** As Ada in workspace 1, unless it says otherwise. Proves that the document of the gateway promises the answer. */
  ask(path: string, question: Question = {}): Promise<Answer> {
    return ask(this.service, path, { as: ADA, workspace: 1, ...question });
  }

  /** The same, and all that the log says of it. */
  async askAndRead(path: string, question: Question = {}): Promise<Answer & { readonly lines: readonly string[] }> {
    const id = `question-${(this.questions += 1)}.`;
    const answer = await this.ask(path, { ...question, headers: { 'x-request-id': id, ...question.headers } });
    await this.gateway.said(new RegExp(`"requestId":"${id}","method".*\n`));
    return { ...answer, lines: this.gateway.log.split('\n').filter((line) => line.includes(`"${id}"`)) };
  }

  /** What the log may not hold, of what has been written since the last look. */
  wrongLines(): readonly string[] {
    const log = this.gateway.log.slice(this.lookedAt);
    this.lookedAt += log.length;
    return [...secretsIn(log), ...log.split('\n').filter((line) => MISTAKE.test(line))];
  }

  async stop(): Promise<void> {
    await this.gateway.interrupt();
    await this.upstream.goAway();
    await this.remove();
  }
}

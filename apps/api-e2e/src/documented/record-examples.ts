import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { newDataDir, RunningService } from '../running-service.js';
import { ADA, localToken } from '../service.js';
import { callOf, examplesInTurn, isOfWebhooks, requestOf, routesOf, successOf } from './document.js';
import { makeEndpoints } from './make-endpoints.js';
import { masked } from './masked.js';
import { fetchDocument } from './read-document.js';
import { untilAudited } from './until-audited.js';

const EXAMPLES = join(__dirname, '..', '..', '..', 'api', 'examples');
/** Written by hand, unlike the responses beside it. */
const REQUESTS = 'requests.json';

const USAGE = `Usage: npm run examples

Starts the service with new demo data, sends the requests of apps/api/examples/<operation>/requests.json, and writes each
response to <name>.json beside it. A response that differs in times and hashes only stays unchanged. Responses without a
request are removed. Afterwards, npm run openapi adds the responses to the document.
`;

async function main([option, ...rest]: readonly string[]): Promise<void> {
  if (option === '--help' && rest.length === 0) {
    process.stdout.write(USAGE);
  } else if (option !== undefined) {
    process.stderr.write(`${option} is not an option.\n\n${USAGE}`);
    process.exitCode = 2;
  } else {
    await record();
  }
}

async function record(): Promise<void> {
  process.stdout.write('Making demo data …\n');
  const folder = await newDataDir();
  const service = await RunningService.start({ dataDir: folder.path });
  try {
    const authorization = `Bearer ${await localToken(folder.path, ADA)}`;
    await untilAudited(service.url, authorization.slice('Bearer '.length), 'openAccount');
    const document = await fetchDocument(service);
    const written = new Set<string>();
    const current = routesOf(document).filter(({ operation }) => !operation.operationId.endsWith('Formerly'));
    const inTurn = examplesInTurn(current);
    const [firstOfWebhooks] = inTurn.find(([route]) => isOfWebhooks(route)) ?? [];
    for (const [route, name] of inTurn) {
      if (route === firstOfWebhooks) await makeEndpoints(service.url, authorization.slice('Bearer '.length));
      const call = callOf(route, name);
      const { path, method } = call;
      const response = await fetch(`${service.url}${path}`, requestOf(call, authorization));
      if (response.status !== successOf(route))
        throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`);
      const file = join(route.operation.operationId, `${name}.json`);
      written.add(file);
      writeExample(file, await response.json());
    }
    removeAllBut(written);
  } finally {
    await service.stop().finally(folder.remove);
  }
  process.stdout.write('Now npm run openapi brings them into the document.\n');
}

function writeExample(file: string, body: unknown): void {
  const target = join(EXAMPLES, file);
  if (existsSync(target) && isDeepStrictEqual(masked(JSON.parse(readFileSync(target, 'utf8'))), masked(body))) return;
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, `${JSON.stringify(body, null, 2)}\n`);
  process.stdout.write(`Wrote ${file}.\n`);
}

function removeAllBut(recorded: ReadonlySet<string>): void {
  for (const file of readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.json') || basename(file) === REQUESTS || recorded.has(file)) continue;
    rmSync(join(EXAMPLES, file));
    process.stdout.write(`Removed ${file}.\n`);
  }
}

void main(process.argv.slice(2));

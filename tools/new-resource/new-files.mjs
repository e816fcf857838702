/** The files a resource begins with, by their paths: what is there works, and is added to. */
export function newFiles(word, migrationNumber) {
  const { kebab, manyKebab } = word;
  return {
    [`libs/domain/src/resources/${kebab}.ts`]: resource(word),
    [`libs/operations/migrations/${migrationNumber}-${manyKebab}.sql`]: migration(word),
    [`libs/operations/src/get-${kebab}.ts`]: useCase(word),
    [`apps/api/src/${manyKebab}/${kebab}.dto.ts`]: dto(word),
    [`apps/api/src/${manyKebab}/${manyKebab}.controller.ts`]: controller(word),
    [`apps/api/src/${manyKebab}/${manyKebab}.controller.spec.ts`]: spec(word),
  };
}

const resource = ({ pascal, spoken, a }) => `import type { ${pascal}Id } from '../ids.js';
import type { Timestamp } from '../timestamp.js';

/** ${a === 'an' ? 'An' : 'A'} ${spoken} of a workspace. */
export interface ${pascal} {
  readonly id: ${pascal}Id;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
}
`;

const migration = ({ snake, manySpoken }) => `-- The ${manySpoken} of a workspace.

create sequence ${snake}_id_seq maxvalue 9007199254740991;

create table ${snake} (
  workspace_id bigint not null,
  id bigint not null default nextval('${snake}_id_seq'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);

alter table ${snake} add constraint ${snake}_workspace foreign key (workspace_id) references workspace;

alter table ${snake} enable row level security;
alter table ${snake} force row level security;
create policy workspaces on ${snake}
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))
  with check (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]));

grant usage on sequence ${snake}_id_seq to banking_app;
grant select, insert on ${snake} to banking_app;
`;

const useCase = ({
  pascal,
  camel,
  snake,
  shout,
}) => `import { Refusal, type ${pascal}, type ${pascal}Id, type WorkspaceId } from '@banking/domain';
import { bind, statement, type Database } from '@banking/postgres';
import { resource } from './edges.js';

const GET_${shout} = statement<{ ${camel}: ${pascal} }>(
  'get_${snake}',
  \`select \${resource(
    "json_build_object('id', x.id, 'createdAt', rfc3339(x.created_at), 'updatedAt', rfc3339(x.updated_at))",
  )} as "${camel}"
   from ${snake} x
   where x.workspace_id = $1 and x.id = $2\`,
);

/** @throws Refusal \`${snake}_not_found\` also for one of another workspace */
export async function get${pascal}(database: Database, workspaceId: WorkspaceId, ${camel}Id: ${pascal}Id): Promise<${pascal}> {
  const row = await database.read({ workspaces: [workspaceId] }, bind(GET_${shout}, workspaceId, ${camel}Id));
  if (!row) throw new Refusal('${snake}_not_found');
  return row.${camel};
}
`;

const dto = ({ pascal, spoken }) => `import type { ${pascal} } from '@banking/domain';
import { IdField, Ours, TimeField } from '../http/field.decorator.js';

export class ${pascal}Dto implements ${pascal} {
  @Ours()
  @IdField('The ${spoken}.', 1)
  readonly id!: ${pascal}['id'];

  @Ours()
  @TimeField('When it was made.')
  readonly createdAt?: NonNullable<${pascal}['createdAt']>;

  @Ours()
  @TimeField('When it last changed.')
  readonly updatedAt?: NonNullable<${pascal}['updatedAt']>;
}
`;

const controller = ({
  pascal,
  manyPascal,
  camel,
  snake,
  kebab,
  manyKebab,
  spoken,
  manySpoken,
  a,
}) => `import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { BankingService, type ${pascal}, type ${pascal}Id } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { ${pascal}Dto } from './${kebab}.dto.js';

@ApiTags('${tagOf(manySpoken)}')
@Controller('${manyKebab}')
export class ${manyPascal}Controller {
  constructor(private readonly banking: BankingService) {}

  @Get(':${camel}Id')
  @Operation('get${pascal}', {
    summary: 'Retrieve ${a} ${spoken}',
    description: 'One ${spoken} of the workspace.',
    provenance: 'ours',
    refusals: ['id_malformed', '${snake}_not_found'],
  })
  @ApiIdParam('${camel}Id', '${a === 'an' ? 'An' : 'A'} ${spoken} of the workspace. One of another workspace is not found, like one that does not exist.')
  @ApiOkResponse({ description: 'The ${spoken}.', type: ${pascal}Dto })
  get(@CalledBy() caller: Caller, @Param('${camel}Id', IdPipe) ${camel}Id: ${pascal}Id): Promise<${pascal}> {
    return this.banking.get${pascal}(caller, { ${camel}Id });
  }
}
`;

const spec = ({
  pascal,
  manyPascal,
  camel,
  snake,
  manyKebab,
  manySpoken,
  spoken,
}) => `import { APP_FILTER } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { FastifyInstance } from 'fastify';
import { BankingService, type Directory, Refusal } from '@banking/domain';
import { AccessCheck } from '../access/access-check.js';
import { Callers } from '../access/callers.js';
import { RateLimit } from '../access/rate-limit.js';
import { RefusalFilter } from '../http/refusal.filter.js';
import { ${manyPascal}Controller } from './${manyKebab}.controller.js';

const OURS = { id: 7, createdAt: '2026-11-21T09:30:00.123456Z' };
const get${pascal} = jest.fn(async (_scope: object, { ${camel}Id }: { ${camel}Id: number }) => {
  if (${camel}Id !== OURS.id) throw new Refusal('${snake}_not_found');
  return OURS;
});

describe('Given the ${manySpoken} of a workspace', () => {
  let app: NestFastifyApplication;

  beforeAll(async () => {
    const ada = { id: 1, grants: [{ workspaceId: 3, role: 'member', appId: 1 }] };
    const built = await Test.createTestingModule({
      controllers: [${manyPascal}Controller],
      providers: [
        { provide: BankingService, useValue: { get${pascal} } },
        { provide: APP_FILTER, useClass: RefusalFilter },
      ],
    }).compile();
    const adapter = new FastifyAdapter();
    const verifier = { subjectOf: async (subject: string) => ({ issuer: 'test', subject }) };
    const callers = new Callers({ userOf: async () => ada } as unknown as Directory);
    const access = new AccessCheck({ verifier, callers, rateLimit: new RateLimit() });
    adapter.getInstance<FastifyInstance>().addHook('onRequest', (request, reply) => access.admit(request, reply));
    app = built.createNestApplication<NestFastifyApplication>(adapter, { logger: false });
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
  });
  afterAll(() => app.close());
  beforeEach(() => get${pascal}.mockClear());

  async function get(id: string, workspace: object = { 'workspace-id': '3' }) {
    const headers = { authorization: 'Bearer ada', ...workspace };
    const { statusCode, json } = await app.inject({ method: 'GET', url: \`/${manyKebab}/\${id}\`, headers });
    return { status: statusCode, body: json<{ reason?: string }>() };
  }

  it('When one is asked for, Then it is read in that workspace and comes as it is', async () => {
    expect(await get('7')).toEqual({ status: 200, body: OURS });
    expect(get${pascal}).toHaveBeenCalledWith(expect.objectContaining({ workspaceId: 3, actor: 1 }), { ${camel}Id: 7 });
  });

  it('When there is no such ${spoken}, Then it is not found', async () => {
    expect(await get('8')).toMatchObject({ status: 404, body: { reason: '${snake}_not_found' } });
  });

  it.each([
    ['the id is none', '07', undefined, 400, 'id_malformed'],
    ['no workspace is named', '7', {}, 400, 'workspace_id_required'],
    ['the workspace is not theirs', '7', { 'workspace-id': '4' }, 403, 'workspace_forbidden'],
  ])('When %s, Then nothing is read', async (_what, id, workspace, status, reason) => {
    expect(await get(id, workspace)).toMatchObject({ status, body: { reason } });
    expect(get${pascal}).not.toHaveBeenCalled();
  });
});
`;

/** How the docs page heads the operations: \`Standing orders\`. */
export function tagOf(manySpoken) {
  return manySpoken.charAt(0).toUpperCase() + manySpoken.slice(1);
}

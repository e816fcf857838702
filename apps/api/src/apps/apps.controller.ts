import type { Readable } from 'node:stream';
import { Controller, Get, Header, Module, Param, Req } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import {
  type App,
  type AppId,
  BankingService,
  PARTY_TYPES,
  type Role,
  type User,
  type Workspace,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { EdgeField, IdField, ListedField, TextField, TimeField } from '../http/field.decorator.js';
import { ApiIdParam, IdPipe } from '../input/input.pipe.js';
import { textStream } from '../http/text-stream.js';
import { AppUserTexts, arrayOf } from '../banking.module.js';

class AppDto implements App {
  @IdField('The app.', 1)
  readonly id!: App['id'];

  @TextField('Name.', 'Northwind Treasury')
  readonly name!: string;

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<App['createdAt']>;
}

export class WorkspaceDto implements Workspace {
  @IdField('The workspace: the value to send in the `Workspace-ID` header.', 1)
  readonly id!: Workspace['id'];

  @TextField('Name.', 'Northwind Trading')
  readonly name!: string;

  @ListedField('`personal` or `business`.', PARTY_TYPES, 'business', false)
  readonly type?: NonNullable<Workspace['type']>;

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<Workspace['createdAt']>;

  @TimeField('Time of the last change.')
  readonly updatedAt?: NonNullable<Workspace['updatedAt']>;
}

class RoleEdgesDto {
  @EdgeField(() => WorkspaceDto, 'The workspace of the role.')
  readonly workspace!: WorkspaceDto;
}

class RoleDto implements Role {
  @IdField('The role of this user in this workspace.', 1)
  readonly id!: Role['id'];

  @TextField(
    '`viewer` reads. `member` also pays, and `approver` approves. `admin` reads and manages members, accounts and endpoints.',
    'admin',
  )
  readonly role!: Role['role'];

  @TimeField('Time of the grant.')
  readonly createdAt?: NonNullable<Role['createdAt']>;

  @TimeField('Time of the last change.')
  readonly updatedAt?: NonNullable<Role['updatedAt']>;

  @EdgeField(() => RoleEdgesDto, 'Related records.')
  readonly edges!: RoleEdgesDto;
}

class UserEdgesDto {
  @EdgeField(() => [RoleDto], 'The roles you may see. Empty for a user without a role.', false)
  readonly roles?: readonly RoleDto[];
}

class UserDto implements User {
  @IdField('The user.', 1)
  readonly id!: User['id'];

  @TextField('E-mail, case-folded.', 'ada@northwind.example')
  readonly email!: string;

  @TextField('For example `pending`, `completed` or `suspended`. Only a completed user has roles.', 'completed', false)
  readonly status?: NonNullable<User['status']>;

  @ListedField('`personal` or `business`.', PARTY_TYPES, 'business', false)
  readonly userType?: NonNullable<User['userType']>;

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<User['createdAt']>;

  @EdgeField(() => UserEdgesDto, 'Related records.')
  readonly edges!: UserEdgesDto;
}

@ApiTags('Apps')
@Controller('apps')
class AppsController {
  constructor(
    private readonly banking: BankingService,
    private readonly users: AppUserTexts,
  ) {}

  @Get()
  @Operation('listApps', {
    summary: 'List your apps',
    description: 'Lists every app you belong to. Start here: an app leads to its users, and each user to workspaces.',
    provenance: 'stated',
  })
  @ApiOkResponse({ description: 'All your apps.', type: [AppDto] })
  list(@CalledBy() caller: Caller): Promise<readonly App[]> {
    return this.banking.listApps(caller);
  }

  @Get(':appId/users')
  @Operation('listAppUsers', {
    summary: 'List the users of an app',
    description: paragraphs(
      'Lists the users of an app, with their workspaces and roles. The value of `Workspace-ID` comes from here.',
      '',
      'An admin of every workspace of the app sees every user with all roles.',
      'Other users see themselves and the users they share a workspace with, with the shared roles only.',
      'A user with the status `pending` has no role yet.',
    ),
    provenance: 'stated',
    statedParameters: ['appId'],
  })
  @ApiIdParam('appId', 'An app you belong to.')
  @ApiOkResponse({ description: 'All users that you may see.', type: [UserDto] })
  @Header('content-type', 'application/json; charset=utf-8')
  listUsers(
    @CalledBy() caller: Caller,
    @Param('appId', IdPipe) appId: AppId,
    @Req() { method }: FastifyRequest,
  ): Promise<Readable> {
    return textStream(arrayOf(this.users.appUserTexts(caller, { appId })), method !== 'HEAD');
  }
}

@Module({ controllers: [AppsController] })
export class AppsModule {}

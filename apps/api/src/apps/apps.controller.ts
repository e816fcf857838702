import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { type App, type AppId, BankingService, type User } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { AppDto } from './app.dto.js';
import { UserDto } from './user.dto.js';

@ApiTags('Apps')
@Controller('apps')
export class AppsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listApps', {
    summary: 'List your apps',
    description: 'Every app you belong to. Start here: an app leads to its users, and they to the workspaces.',
    provenance: 'stated',
    refusals: [],
    examples: [{ name: 'ada', summary: 'The one app Ada belongs to' }],
  })
  @ApiOkResponse({ description: 'The apps, whole.', type: [AppDto] })
  list(@CalledBy() caller: Caller): Promise<readonly App[]> {
    return this.banking.listApps(caller);
  }

  @Get(':appId/users')
  @Operation('listAppUsers', {
    summary: 'List the users of an app',
    description:
      'Who uses an app, and in which workspaces with which role: this is where the value of `Workspace-ID` comes from.\n\nAn admin of any workspace of the app sees every user with all roles. Anyone else sees themselves and the users they share a workspace with, with the shared roles only. A user who is `pending` has no role yet.',
    provenance: 'stated',
    statedParameters: ['appId'],
    refusals: ['id_malformed', 'app_not_found'],
    examples: [
      {
        name: 'northwind',
        summary: 'As Ada, an admin: everybody, and the ids of the workspaces',
        values: { appId: 1 },
      },
    ],
  })
  @ApiIdParam('appId', 'An app you belong to.')
  @ApiOkResponse({ description: 'The users, whole.', type: [UserDto] })
  listUsers(@CalledBy() caller: Caller, @Param('appId', IdPipe) appId: AppId): Promise<readonly User[]> {
    return this.banking.listAppUsers(caller, { appId });
  }
}

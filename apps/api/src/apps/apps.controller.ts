import type { Readable } from 'node:stream';
import { Controller, Get, Header, Param, Req } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { type App, type AppId, BankingService } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { textStream } from '../http/text-stream.js';
import { AppUserTexts, arrayOf } from './app-user-texts.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../access/operation.decorator.js';
import * as docs from './apps.docs.js';
import { AppDto } from './app.dto.js';
import { UserDto } from './user.dto.js';

@ApiTags('Apps')
@Controller('apps')
export class AppsController {
  constructor(
    private readonly banking: BankingService,
    private readonly users: AppUserTexts,
  ) {}

  @Get()
  @Operation('listApps', docs.listApps)
  @ApiOkResponse({ description: 'All your apps.', type: [AppDto] })
  list(@CalledBy() caller: Caller): Promise<readonly App[]> {
    return this.banking.listApps(caller);
  }

  @Get(':appId/users')
  @Operation('listAppUsers', docs.listAppUsers)
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

import { Module } from '@nestjs/common';
import { AccountsController } from './accounts.controller.js';
import { StatementsController } from './statements.controller.js';

@Module({ controllers: [AccountsController, StatementsController] })
export class AccountsModule {}

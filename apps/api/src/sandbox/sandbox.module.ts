import { Module } from '@nestjs/common';
import { SandboxController } from './sandbox.controller.js';

@Module({ controllers: [SandboxController] })
export class SandboxModule {}

import { cpus, platform, release, totalmem } from 'node:os';

export interface MachineDescription {
  readonly cpuModel: string;
  readonly cpuCount: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
}

export function describeMachine(): MachineDescription {
  const all = cpus();
  return {
    cpuModel: all[0]?.model.trim() ?? 'unknown',
    cpuCount: all.length,
    memoryBytes: totalmem(),
    system: `${platform()} ${release()}`,
    node: process.versions.node,
  };
}

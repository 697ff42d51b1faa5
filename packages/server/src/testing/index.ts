export {
  clientField,
  describeWithEpoll,
  encodeCommand,
  eventually,
  type Frame,
  frameBuilder,
  infoNumber,
  ManualClock,
  TestClient,
  TestLane,
  type TestSession,
} from '@quotadb/resp/testing';
export { type CertifiedRegion, CertifiedRegions } from './certified-regions.js';
export { EtcdCluster, LAST_SLOT } from './etcd-cluster.js';
export { HeldDisk } from './held-disk.js';
export { LastingState } from './lasting-state.js';
export { LocalRegistry } from './local-registry.js';
export { PackedPackages } from './packed-packages.js';
export { describeEveryDoor, type RespDoor } from './resp-doors.js';
export { type ProgramResult, runProgram } from './run-program.js';
export { QUOTADB_BINARY, type ReadyLine, SpawnedServer, spawnServer } from './spawned-server.js';
export { type CertificateFiles, certificateFiles, createAuthority, issueCertificate } from './test-certificates.js';
export { startTwoGroups, TestCluster, TWO_GROUPS } from './test-cluster.js';
export { TestRegions } from './test-regions.js';
export { startTestServer, type TestServer, testTransport } from './test-server.js';
export { useProcesses, useTestServers } from './use-test-servers.js';

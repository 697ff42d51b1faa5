export { CommandRunner } from './command-runner.js';
export { ManualClock } from './manual-clock.js';
export { QUOTADB_BINARY, type ReadyLine, SpawnedServer, spawnServer } from './spawned-server.js';
export { TestClient } from './test-client.js';
export { encodeCommand, TestLane, type TestSession } from './test-lane.js';
export { startTestServer, type TestServer } from './test-server.js';

export { CommandRunner } from './command-runner.js';
export { describeWithEpoll } from './epoll.js';
export { ManualClock } from './manual-clock.js';
export { clientField, eventually, infoNumber } from './questions.js';
export { type Frame, frameBuilder } from './reply-frame.js';
export { TestClient } from './test-client.js';
export { encodeCommand, TestLane, TestSession } from './test-lane.js';

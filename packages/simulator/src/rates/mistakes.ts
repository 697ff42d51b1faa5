import type { Mistake } from '../world/cluster.js';

export const RATE_MISTAKES: readonly Mistake[] = [
  {
    name: 'an unpublished count stays so when another region publishes the cell',
    plant: ({ engine }) => {
      const { publish } = engine.unpublished;
      engine.unpublished.publish = function (shard, record) {
        if (engine.generations.firstForeign(record) === 0) publish.call(this, shard, record);
      };
    },
  },
  {
    name: 'the counts of others are sent on as the own',
    plant: ({ engine }) => {
      const add = engine.add.bind(engine);
      engine.add = (high, low) => add(high, low + Number(engine.foreignValue()));
    },
  },
  {
    name: 'a region takes all that comes free, though others see it too',
    plant: ({ engine }) => {
      Object.defineProperty(engine, 'foreignCount', { get: () => 0 });
    },
  },
  {
    name: 'an unpublished count is published though its window has aged out',
    plant: ({ engine }) => {
      const { add } = engine.unpublished;
      engine.unpublished.add = function (shard, record, high, low, _, expiresAtMs) {
        return add.call(this, shard, record, high, low, expiresAtMs, expiresAtMs);
      };
    },
  },
  {
    name: 'a cell is published from the first request on',
    plant: ({ engine }) => {
      Object.defineProperty(engine, 'hasNoComponents', { get: () => false });
    },
  },
  {
    name: 'an unpublished count is counted twice when it is published',
    plant: ({ engine }) => {
      const { add } = engine.unpublished;
      engine.unpublished.add = function (shard, record, high, low, untilMs, expiresAtMs) {
        return add.call(this, shard, record, high, low * 2, untilMs, expiresAtMs);
      };
    },
  },
];

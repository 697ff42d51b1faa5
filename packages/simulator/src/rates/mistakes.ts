import type { Mistake } from '../world/cluster.js';

export const RATE_MISTAKES: readonly Mistake[] = [
  {
    name: 'an unpublished count stays so when another region publishes the cell',
    plant: ({ engine }) => {
      const { publish } = engine.withheld;
      engine.withheld.publish = function (shard, record) {
        if (engine.lives.firstForeign(record) === 0) publish.call(this, shard, record);
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
    name: 'an unpublished count is published though its window has aged out',
    plant: ({ engine }) => {
      const { hold } = engine.withheld;
      engine.withheld.hold = function (shard, record, high, low, _, expiresAtMs) {
        return hold.call(this, shard, record, high, low, expiresAtMs, expiresAtMs);
      };
    },
  },
  {
    name: 'a cell is published from the first request on',
    plant: ({ engine }) => {
      Object.defineProperty(engine, 'isUntold', { get: () => false });
    },
  },
  {
    name: 'an unpublished count is counted twice when it is published',
    plant: ({ engine }) => {
      const { hold } = engine.withheld;
      engine.withheld.hold = function (shard, record, high, low, untilMs, expiresAtMs) {
        return hold.call(this, shard, record, high, low * 2, untilMs, expiresAtMs);
      };
    },
  },
];

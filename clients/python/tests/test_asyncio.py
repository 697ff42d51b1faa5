import asyncio
import time
import unittest

import redis.asyncio

from quotadb import asyncio as quotadb

from .server import LONG, PORT, TTL, eventually_async, fresh_name


class WithServer(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.connection = redis.asyncio.Redis(port=PORT)
        self.db = quotadb.QuotaDB(self.connection)

    async def asyncTearDown(self) -> None:
        await self.connection.close()
        await self.connection.connection_pool.disconnect()

    async def test_takes_reservations_and_limits_decide_as_without_asyncio(self) -> None:
        quota = self.db.quota(fresh_name("calls"))
        await quota.define(limit=1000, window=LONG)
        self.assertIn(quota.name, await self.db.quotas())
        self.assertEqual((await quota.take("alice", 100)).remaining_everywhere, 900)
        async with quota.reserve("alice", 500) as reservation:
            self.assertEqual((await reservation.commit(300)).charged, 300)
        async with quota.reserve("alice", 500):
            pass

        async def has(tokens: int) -> bool:
            return (await quota.peek("alice")).remaining_everywhere == tokens

        await eventually_async(lambda: has(600))
        kept = await quota.reserve("alice", 500)
        self.assertTrue(await kept.cancel())
        await eventually_async(lambda: has(600))
        with self.assertRaises(quotadb.LimitExceeded):
            async with quota.reserve("alice", 601, wait=0):
                self.fail("the block ran")
        with self.assertRaises(quotadb.LimitExceeded):
            await quota.require("alice", 601, wait=0)
        items = [quotadb.QuotaItem(quota.name, "bob"), quotadb.QuotaItem(quota.name, "carol", 2)]
        self.assertTrue(await self.db.take_all(items))
        limit = self.db.limit(1, window=LONG, prefix=fresh_name("api:"))
        self.assertTrue(await limit.require("alice"))
        self.assertFalse(await limit.take("alice"))
        self.assertEqual((await limit.peek("alice", 0)).remaining, 0)
        self.assertTrue(await self.db.limit_all([quotadb.RateRule(fresh_name("rule"), 1, LONG)]))
        self.assertTrue(await self.db.bucket(0, 1, 3600, prefix=fresh_name("b:")).take("alice"))
        self.assertTrue(await quota.drop())

    async def test_a_lease_is_renewed_while_its_block_runs_and_given_back_at_its_end(self) -> None:
        jobs = self.db.quota(fresh_name("jobs"))
        await jobs.define(limit=1, lease=60)
        async with jobs.lease("alice", ttl=TTL) as lease:
            begun = time.monotonic()
            while time.monotonic() < begun + 1.2 * TTL:
                self.assertTrue(lease.is_held)
                await asyncio.sleep(0.05)
            with self.assertRaises(quotadb.LimitExceeded):
                await jobs.lease("alice", ttl=30, wait=0)
        self.assertFalse(lease.is_held)

        async def is_back() -> bool:
            return (await jobs.peek("alice")).remaining_everywhere == 1

        await eventually_async(is_back)

    async def test_a_lease_that_cannot_be_renewed_is_lost_in_time(self) -> None:
        jobs = self.db.quota(fresh_name("jobs"))
        await jobs.define(limit=1, lease=60)
        async with jobs.lease("alice", ttl=0.5) as lease:
            await self.connection.execute_command("QUOTA.RELEASE", lease.id)
            await asyncio.wait_for(lease.lost.wait(), 30)
            with self.assertRaises(quotadb.LeaseLost):
                lease.check()


if __name__ == "__main__":
    unittest.main()
